"""References that belong to the continuum particle model: listed, so that the table is complete."""

from __future__ import annotations

from rheotwin.validation.verify.check import Check, Quantity

SHEAR_VOLUME = "needs the shear-volume particle solver"


def _listed(reference: str, name: str, title: str, *quantities: Quantity, covers: tuple[str, ...] = ()) -> Check:
    return Check(
        reference=reference, name=name, title=title, quantities=quantities, covers=covers, waits_for=SHEAR_VOLUME
    )


def _forces(values: dict[str, float]) -> tuple[Quantity, ...]:
    """Return quantities with the 1 % tolerance of the explicit particle scenes."""
    return tuple(Quantity(name, value, 0.01, "relative") for name, value in values.items())


CHECKS = (
    _listed(
        "R5",
        "seed-triangle-force",
        "bar force of the papers' shear triangle, by shear modulus",
        *(
            Quantity(f"F, G = {name}", value, 5.1e-4, unit="N")
            for name, value in {"mu": 639.003, "mu/1.5": 518.151, "mu/2": 439.711, "mu/2.5": 383.654}.items()
        ),
        covers=("A5",),
    ),
    _listed(
        "R6",
        "consistent-triangle-force",
        "force over depth of the consistent triangle",
        *(
            Quantity(f"F/depth at {depth}", value, digits, unit="N/m")
            for depth, value, digits in (
                ("0.003", 469.6826, 5.1e-5),
                ("0.03", 469.9959, 5.1e-5),
                ("0.3", 473.1197, 5.1e-5),
                ("3", 502.871, 5.1e-4),
                ("6", 529.746, 5.1e-4),
            )
        ),
        covers=("A4",),
    ),
    _listed(
        "R16",
        "cycle-work",
        "work of a strain cycle over G S a^2, right isosceles triangle",
        Quantity("papers' triangle", 25.132741, 1e-6),
        Quantity("consistent triangle", 1e-14, bound="at most"),
        covers=("A5",),
    ),
    _listed(
        "R17",
        "particles-elastic",
        "scene P-EL, consistent triangle",
        *_forces({"F(5)": 42.1, "F(10)": 88.0, "min S/S0": 0.628}),
    ),
    _listed(
        "R18",
        "particles-viscoplastic",
        "scene P-VP, consistent triangle",
        *_forces({"F(5)": 28.0, "F(10)": 51.9, "u_mid(30)": -8.27}),
    ),
    _listed(
        "R19",
        "particles-rheological",
        "scene P-RH, consistent triangle",
        *_forces({"F(5)": 34.2, "F(10)": 70.0, "u_mid(30)": -4.06}),
    ),
    _listed(
        "R20",
        "particles-seed-triangle",
        "scenes P-EL, P-VP, P-RH with the papers' triangle, sign corrected (E1)",
        *_forces({"F(10), P-EL": 99.5, "F(10), P-VP": 67.6, "F(10), P-RH": 85.3}),
    ),
)
