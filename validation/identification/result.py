"""What was identified: orders, parameters with intervals, what is not known, how good the model is, and its law."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.materials.voigt_chain import chain_of_spectrum
from rheotwin.shown import Shown

if TYPE_CHECKING:
    from rheotwin.validation.report.charts import Plot

Model = Literal["generalized-voigt", "generalized-maxwell", "three-element"]
"""Laws of a scene that a result can be."""


@dataclass(frozen=True)
class Parameter:
    """A parameter with its 95 % interval `low` to `high`, in `unit`."""

    name: str
    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class OrderRow:
    """One candidate: its `parameters`, misfit (rms over peak, the worst of all records), criteria and verdict.

    The criteria count `effective` data. The `verdict` is "chosen", "possible" or says why it is rejected.
    """

    name: str
    parameters: tuple[Parameter, ...]
    misfit: float
    reduced_chi2: float
    aic: float
    bic: float
    effective: float
    verdict: str


@dataclass(frozen=True)
class Flat:
    """A combination of parameters, as "k1^0.8 b2^-0.6", known within a `factor` only, and the test that would tell."""

    combination: str
    factor: float
    remedy: str


@dataclass(frozen=True)
class Adequacy:
    """Whether the model describes the data: `largest` residual over peak, probability of its runs of sign by chance."""

    adequate: bool
    reduced_chi2: float
    largest: float
    runs: float
    sentence: str


@dataclass(frozen=True)
class Curve:
    """Data, model and its 95 % band over time [s] or angular frequency [rad/s]; `quantity` is force, storage, ...

    `misfit` is the rms of what is left over the peak.
    """

    record: str
    quantity: str
    unit: str
    at: Array
    measured: Array
    model: Array
    low: Array
    high: Array
    fitted: bool = True

    @property
    def misfit(self) -> float:
        """Return the rms of what is left over the peak of the data."""
        left = self.model - self.measured
        return float(np.sqrt(np.mean(left**2)) / np.abs(self.measured).max())


@dataclass(frozen=True)
class LawTable:
    """A law of a scene: `channel` of Young's modulus [Pa] as springs and dashpots of `model`.

    `poisson` was not measured. `uncertainty` is half the 95 % interval of its moduli together, as a share of them.
    """

    model: Model
    channel: Channel
    poisson: float
    uncertainty: float | None = None
    friction: float | None = None

    def table(self) -> dict[str, Any]:
        """Return the law as a scene takes it."""
        head: dict[str, Any] = {"model": self.model, "poisson": self.poisson}
        if self.uncertainty is not None:
            head["uncertainty"] = self.uncertainty
        if self.model == "generalized-maxwell":
            arms = zip(self.channel.strengths, self.channel.times, strict=True)
            beside = {"equilibrium": self.channel.equilibrium, "viscosity": self.channel.viscosity}
            head |= {key: value for key, value in beside.items() if value}
            return head | {"units": [{"young": g, "viscosity": g * tau} for g, tau in arms]}
        chain = chain_of_spectrum(self.channel.spectrum())
        units = list(zip(chain.ks, chain.bs, strict=True))[::-1]  # by rising b/k
        if self.model == "three-element":
            (_, series), (young, viscosity) = sorted(units)
            head |= {"young": young, "voigt_viscosity": viscosity, "series_viscosity": series}
            return head if self.friction is None else head | {"friction": self.friction}
        return head | {
            "units": [{key: value for key, value in (("young", k), ("viscosity", b)) if value} for k, b in units]
        }

    def to_toml(self, name: str = "identified") -> str:
        """Return the table `[laws.NAME]` to paste into a scene."""
        lines = [f"[laws.{name}]"]
        for key, value in self.table().items():
            if key != "units":
                lines.append(f"{key} = {json.dumps(value)}")
                continue
            rows = (", ".join(f"{part} = {number!r}" for part, number in unit.items()) for unit in value)
            lines += ["units = [", *(f"  {{ {row} }}," for row in rows), "]"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, repr=False)
class Identified(Shown):
    """The result of an identification; `to_toml()` is its law, `save(folder)` writes all of it.

    `correlations` are those of the parameters' logarithms. `no_law` says why a model is no law of a scene. `curves`
    hold the records that were fitted and those that were predicted blind.
    """

    title: str
    model: str
    parameters: tuple[Parameter, ...]
    correlations: Array
    orders: tuple[OrderRow, ...]
    flat: tuple[Flat, ...]
    adequacy: Adequacy
    curves: tuple[Curve, ...]
    law: LawTable | None
    no_law: str = ""
    scene: str = ""
    """The (first) test piece with this law, as a scene file."""
    notes: tuple[str, ...] = ()
    seed: int = 0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_toml(self, name: str = "identified") -> str:
        """Return the law as a table to paste into a scene."""
        if self.law is None:
            raise RheotwinError(self.no_law)
        return self.law.to_toml(name)

    @property
    def headline(self) -> str:
        """The model, and whether it describes the data."""
        return f"{self.title}: {self.model}: {self.adequacy.sentence}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Value and 95 % interval of each parameter."""
        return [vars(parameter) for parameter in self.parameters]

    def plot(self) -> Plot:
        """Return the picture of data, model, band and residuals."""
        from rheotwin.validation.identification.page import picture

        return picture(self)

    def value(self, name: str) -> float:
        """Return a parameter by its name."""
        return next(parameter.value for parameter in self.parameters if parameter.name == name)

    def with_notes(self, *notes: str) -> Identified:
        """Return the same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_data(self) -> dict[str, Any]:
        """Return everything as it is kept in result.json."""
        found = asdict(replace(self, curves=(), law=None))
        del found["scene"]
        found["curves"] = [
            {key: _plain(value) for key, value in vars(curve).items()} | {"misfit": curve.misfit}
            for curve in self.curves
        ]
        found["law"] = None if self.law is None else self.law.table()
        found["correlations"] = self.correlations.tolist()
        return found

    def save(self, folder: Path | str) -> Path:
        """Write result, law, piece, page, picture and cards into a new or empty folder, all or nothing."""
        from rheotwin.validation.folder import filled_aside, move_in, write_texts
        from rheotwin.validation.identification.cards import cards
        from rheotwin.validation.identification.page import page, picture

        target = free_folder(folder)
        plot = picture(self)
        files = {"result.json": json.dumps(self.to_data(), indent=1) + "\n", "report.html": page(self, plot)}
        if self.law is not None:
            files |= {"law.toml": self.to_toml()} | cards(self.law)
        if self.scene:
            files["piece.toml"] = self.scene
        with filled_aside(target, "law") as aside:
            write_texts(aside, files.items())
            (aside / "picture.png").write_bytes(plot.png)
            target.mkdir(exist_ok=True)
            move_in(aside, target, ["picture.png", *reversed(files)])
        return target


def free_folder(folder: Path | str) -> Path:
    """Return a folder that does not exist or is empty, or say so."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RheotwinError(f"{target} is there already and not an empty folder; choose another one")
    return target


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value
