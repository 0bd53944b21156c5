"""Explicit Euler, the papers' simplest rule: y1 = y + h f(y, t); order 1.

A Maxwell body of frequency om_max needs h < (1/tau)/om_max^2 and an undamped one h = 0, so this rule is here for
comparison, not for use (spec 2.3).
"""

from __future__ import annotations

from rheotwin.fem.steppers.explicit_rule import Array, ExplicitRule, Rate


def advance(rate: Rate, y: Array, begin: float, end: float) -> Array:
    """Return y after the step from `begin` to `end` [s]."""
    return y + (end - begin) * rate(y, begin, after=True)


EXPLICIT_EULER = ExplicitRule("explicit Euler", 1, advance, growth=lambda z: 1.0 + z, damped_limit=2.0)
