"""pyvisco's minimal Prony series: ours of as many terms leaves no more of the same storage and loss moduli.

pyvisco begins with one term a decade and takes one after the other away while times are optimised (L-BFGS, normalised
moduli); it suggests the series that leaves 1.5 times the least.
"""

from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.validation.identification import OscillationRecord, identify_oscillation

pandas = pytest.importorskip("pandas", reason="pyvisco is not installed: pip install pyvisco")
opt = pytest.importorskip("pyvisco.opt", reason="pyvisco is not installed: pip install pyvisco")
prony = pytest.importorskip("pyvisco.prony", reason="pyvisco is not installed: pip install pyvisco")
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

OMEGA = np.logspace(-3.0, 3.0, 61)
LAWS = {
    "five arms": Channel.prony(1.0, (4.0, 2.0, 3.0, 1.0, 2.0), (0.01, 0.1, 1.0, 10.0, 100.0)),
    "a broad spectrum": Channel.prony(
        0.5, tuple(np.exp(-(np.linspace(-2.0, 2.0, 25) ** 2))), tuple(10.0 ** np.linspace(-4.0, 4.0, 25))
    ),
}


def minimal(storage: Array, loss: Array) -> Channel:
    """Return the series that pyvisco suggests."""
    columns = {"f": OMEGA / (2.0 * np.pi), "omega": OMEGA, "E_stor": storage, "E_loss": loss}
    master: Any = pandas.DataFrame(columns | {"E_stor_filt": storage, "E_loss_filt": loss})
    master.domain, master.modul, master.RefT = "freq", "E", 0
    first, _ = prony.fit(prony.discretize(master), master, opt=False)
    found, best, _ = opt.nprony(master, first)
    terms, at_once = found[best]["df_terms"], found[best]["E_0"]
    strengths = at_once * terms["alpha_i"].to_numpy()
    return Channel.prony(at_once - strengths.sum(), tuple(strengths), tuple(terms["tau_i"]))


def left(channel: Channel, storage: Array, loss: Array) -> tuple[float, float]:
    """Return the rms of relative residuals, and that of residuals in units of the largest modulus, as the peer's."""
    z = channel.complex_modulus(OMEGA)
    apart = np.concatenate([z.real - storage, z.imag - loss])
    relative = apart / np.concatenate([storage, loss])
    return float(np.sqrt(np.mean(relative**2))), float(np.sqrt(np.mean(apart**2)) / storage.max())


@pytest.mark.parametrize("name", LAWS)
def test_no_more_terms_are_needed_than_the_peer_takes(name: str) -> None:
    z, draw = LAWS[name].complex_modulus(OMEGA), np.random.default_rng(3).normal(1.0, 0.01, (2, len(OMEGA)))
    storage, loss = z.real * draw[0], z.imag * draw[1]
    peer = minimal(storage, loss)
    ours = identify_oscillation(OscillationRecord("made", OMEGA, storage, loss), terms=len(peer.times)).law
    assert ours is not None and len(ours.channel.times) == len(peer.times)
    (relative, whole), (peer_relative, peer_whole) = left(ours.channel, storage, loss), left(peer, storage, loss)
    assert relative <= peer_relative
    # what the peer makes least itself, not we
    assert whole <= 1.25 * peer_whole
