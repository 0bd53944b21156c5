"""The area between distributions, by hand-made cases."""

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics import area_metric


@pytest.mark.parametrize(
    ("model", "data", "above", "below"),
    [
        ([1.0, 2.0, 4.0], [4.0, 1.0, 2.0], 0.0, 0.0),  # the same sample
        ([1.3, 2.3, 4.3], [1.0, 2.0, 4.0], 0.3, 0.0),  # shifted up
        ([0.7, 1.7, 3.7], [1.0, 2.0, 4.0], 0.0, 0.3),  # and down
        (5.0, 3.0, 2.0, 0.0),  # one value against one
        (3.0, [2.0, 4.0], 0.5, 0.5),  # a model without the scatter of the data
        ([2.0, 4.0], 3.0, 0.5, 0.5),  # and one with more than they have
        (0.0, [1.0, 2.0, 6.0], 0.0, 3.0),  # beyond all data: the distance to their mean
        ([1.0, 1.0, 3.0, 3.0], [1.0, 3.0], 0.0, 0.0),  # other sizes, the same shares
        ([0.0, 10.0], [1.0, 2.0, 3.0], 1.0 / 6.0 + 3.5, 0.5 + 1.0 / 6.0),  # a step of a half against three thirds
    ],
)
def test_hand_made_cases(model: object, data: object, above: float, below: float) -> None:
    for scale in (1.0, 4.0):
        found = area_metric(model, data, scale)  # type: ignore[arg-type]
        assert (found.above, found.below) == pytest.approx((above / scale, below / scale), abs=1e-12)
        assert found.total == pytest.approx((above + below) / scale, abs=1e-12)


def test_it_is_the_mean_distance_of_values_in_order() -> None:
    """Of samples of one size the area is mean |x_(i) - y_(i)|, whatever their order was; swapped sides swap sides."""
    rng = np.random.default_rng(3)
    mine, theirs = rng.normal(size=40), rng.normal(0.4, 2.0, size=40)
    found, back = area_metric(mine, theirs, 2.0), area_metric(theirs, mine, 2.0)
    assert found.total == pytest.approx(np.abs(np.sort(mine) - np.sort(theirs)).mean() / 2.0, rel=1e-12)
    assert found.above - found.below == pytest.approx((mine.mean() - theirs.mean()) / 2.0, rel=1e-12)
    assert (back.above, back.below) == pytest.approx((found.below, found.above), rel=1e-12)


@pytest.mark.parametrize(("model", "data", "scale"), [([], [1.0], 1.0), ([1.0], [np.nan], 1.0), ([1.0], [1.0], 0.0)])
def test_what_has_no_area_is_refused(model: list[float], data: list[float], scale: float) -> None:
    with pytest.raises(RheotwinError, match="area metric: give at least one finite value"):
        area_metric(model, data, scale)
