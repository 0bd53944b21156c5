from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheotwin.errors import RheotwinError
from rheotwin.materials import Moduli


@given(young=st.floats(1e-3, 1e9), poisson=st.floats(-0.9, 0.499))
def test_the_three_constructors_agree(young: float, poisson: float) -> None:
    moduli = Moduli.from_young(young, poisson)
    for same in (moduli, Moduli.from_lame(moduli.lame, moduli.shear), Moduli.from_bulk(moduli.bulk, moduli.shear)):
        # 1 - 2 nu = 0.002 at the end of the range amplifies rounding about a thousand times
        assert same.young == pytest.approx(young, rel=1e-11)
        assert same.poisson == pytest.approx(poisson, rel=1e-11, abs=1e-13)
        assert same.bulk == pytest.approx(young / (3 * (1 - 2 * poisson)), rel=1e-11)


def test_absent_parts_bulk_or_shear_alone_and_values_by_name() -> None:
    assert Moduli.from_young(0, 0.3).is_absent and Moduli.absent().young == Moduli.absent().poisson == 0
    bulk_only, shear_only = Moduli.from_bulk(7, 0), Moduli.from_bulk(0, 0.7)
    assert (bulk_only.bulk, bulk_only.shear, bulk_only.young) == (7, 0, 0)
    assert (shear_only.bulk, shear_only.shear, shear_only.young) == (0, 0.7, 0)
    assert not bulk_only.is_absent and not shear_only.is_absent
    for name, value in {"lame": 0.8, "shear": 0.8, "bulk": 4 / 3, "young": 2.0, "area": 1.6}.items():
        assert Moduli.from_young(2, 0.25).value(name) == pytest.approx(value, rel=1e-14)  # type: ignore[arg-type]
    # G = E/3 (E10), and no number for what is infinite.
    moduli = Moduli.from_young(3.0, 0.5)
    assert (moduli.shear, moduli.young, moduli.poisson, moduli.is_incompressible) == (1.0, 3.0, 0.5, True)
    for modulus in ("bulk", "lame", "area"):
        with pytest.raises(RheotwinError, match=f"poisson = 0.5 leaves no finite {modulus} modulus: choose less"):
            moduli.value(modulus)  # type: ignore[arg-type]
    assert Moduli.from_young(0.0, 0.5).is_absent


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Moduli.from_young(1, 0.7), "poisson = 0.7 is beyond incompressible"),
        (lambda: Moduli.from_young(1, -1), "poisson = -1 is not above -1"),
        (lambda: Moduli.from_young(-3, 0.3), "young = -3 is negative"),
        (lambda: Moduli.from_young(float("nan"), 0.3), "young = nan is not a finite number"),
        (lambda: Moduli.from_young(1, float("inf")), "poisson = inf is not a finite number"),
        (lambda: Moduli.from_lame(1, -1), "shear = -1 is negative"),
        (lambda: Moduli.from_lame(-2.1, 3), r"poisson below -1\): choose lame of at least -2"),
        (lambda: Moduli.from_bulk(-1, 1), "bulk = -1 is negative"),
        (lambda: Moduli(1, 1).value("yung"), "did you mean 'young'"),  # type: ignore[arg-type]
    ],
)
def test_refused_moduli(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        make()
