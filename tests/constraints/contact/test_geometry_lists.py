"""Lists that outlive steps leave nothing out, and say so when there is no room."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.pairs import room_for_pairs
from rheotwin.constraints.contact.search import BUILT, REBUILDS, restore_search, save_search
from rheotwin.meshing import tet_grid

Make = Callable[..., Any]
STEPS = 40


def two_blocks(detector: Make) -> Any:
    first, second = (tet_grid(*(np.linspace(0.0, 1.0, n + 1),) * 3) for n in (3, 4))
    found = detector(first, second, self_bodies=(0,))
    found.rest[64:] += [0.31, 0.23, 1.02]
    return found


def walk(rest: np.ndarray) -> list[np.ndarray]:
    """The upper block comes down, turns and shakes; both deform."""
    random, places = np.random.default_rng(3), [rest]
    for step in range(STEPS):
        x = rest.copy()
        angle, centre = 0.01 * step, rest[64:].mean(axis=0)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        x[64:] = (rest[64:] - centre) @ turn.T + centre - [0.0, 0.002 * step, 0.003 * step]
        places.append(x + 2e-4 * random.standard_normal(x.shape))
    return places


def rows(pairs: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((int(pair.slot), pair.node.tolist(), pair.gap, *pair.normal, *pair.weight) for pair in pairs)


def test_old_lists_find_what_new_ones_find(detector: Make) -> None:
    kept, renewed = two_blocks(detector), two_blocks(detector)
    places, most = walk(kept.rest), 0
    for begin, end in pairwise(places):
        renewed.search.counter[BUILT] = 0
        expected = rows(renewed.find(begin, end, 0.01))
        assert rows(kept.find(begin, end, 0.01)) == expected
        most = max(most, len(expected))
    assert most > 20
    assert 1 < kept.search.counter[REBUILDS] < STEPS / 2


def test_restart_is_bitwise(detector: Make) -> None:
    found, again = two_blocks(detector), two_blocks(detector)
    places = walk(found.rest)
    for begin, end in pairwise(places[:21]):
        found.find(begin, end, 0.01)
    again.search = restore_search(again.search, save_search(found.search))
    again.feature[:], again.active[:] = found.feature, found.active
    for begin, end in pairwise(places[20:]):
        assert rows(again.find(begin, end, 0.01)) == rows(found.find(begin, end, 0.01))
    assert np.array_equal(again.search.counter, found.search.counter)


def test_a_larger_region_needs_new_lists(detector: Make) -> None:
    found = two_blocks(detector)
    assert found.find(found.rest, found.rest, 0.0) == []
    assert len(found.find(found.rest, found.rest, 0.03)) > 10


def test_too_little_room_is_made(detector: Make) -> None:
    found = two_blocks(detector)
    end = walk(found.rest)[-1]
    lists = found.search
    count = found.look(found.rest, end, 0.01).count[0]
    assert len(found.search.candidate) > len(lists.candidate)
    few = two_blocks(detector)
    few._made.pairs = room_for_pairs(3)
    assert few.look(few.rest, end, 0.01).count[0] == count > 3


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_scale_does_not_matter(detector: Make, size: float) -> None:
    found, unit = two_blocks(detector), two_blocks(detector)
    scaled = unit.search._replace(reach=found.search.reach * size, margin=found.search.margin * size)
    unit.search = scaled
    end = walk(found.rest)[-1]
    expected = found.find(found.rest, end, 0.01)
    pairs = unit.find(size * found.rest, size * end, size * 0.01)
    assert [pair.slot for pair in pairs] == [pair.slot for pair in expected]
    assert [pair.gap for pair in pairs] == pytest.approx([size * pair.gap for pair in expected], rel=1e-9)
