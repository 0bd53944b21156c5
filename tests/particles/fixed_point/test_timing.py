"""Cycles, memory and partitions: equations (2.15) and (2.19) to (2.21), and every number of the papers that follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.body import grid_edges, grid_points
from rheotwin.particles.fixed_point.partition import (
    Partition,
    check_hazards,
    hazard_free_order,
    hazards,
    in_slots,
    partition,
)
from rheotwin.particles.fixed_point.timing import (
    XC2V6000,
    Device,
    Extras,
    Links,
    Machine,
    block_rams,
    check_memory,
    cycles,
    exchange,
    exchange_cycles,
    predict,
    schedule,
)

LARGE = (15, 15, 16)


def edges_of(shape: tuple[int, int, int]) -> np.ndarray:
    return np.stack(grid_edges(shape), axis=1)


def groups_of(shape: tuple[int, int, int], parts: int, kind: Partition) -> np.ndarray:
    return partition(grid_points(shape, 1.0), edges_of(shape), parts, kind)


def test_four_slabs_and_the_slowest_of_them() -> None:
    """n_es 17,596 and n_et 1,935: the inner slabs have 4,399 + 1,290 slots."""
    plan = schedule(edges_of(LARGE), groups_of(LARGE, 4, "slabs"))
    assert (plan.edges_inside, plan.edges_between) == (17596, 1935)
    assert sorted(plan.slots) == [5044, 5044, 5689, 5689]


def test_hidden_overhead_would_reproduce_all_three_printed_times() -> None:
    """E4, a hypothesis: 5,044 slots and 30 to 35 cycles more give 0.137, 0.704 and 0.0920, cut and not rounded."""
    for overhead in range(30, 36):
        one, four = Machine(overhead=overhead), Machine(modules=4, overhead=overhead)
        small, large = cycles(one, 729, 3672) / 33.0, cycles(one, 3600, 19531) / 33.0
        times = (small, large, cycles(four, 3600, 4 * 5044) / 6.6)
        assert [int(time) for time in times] == [137, 704, 920], overhead


def test_memory_grows_by_whole_blocks() -> None:
    """(2.15): 4,096 points and 20,480 edges fill 120 BlockRAMs, as the large body does; the next has 19 edges more."""
    assert 4 * block_rams(1024, 5120, Extras(buffered=True)) <= XC2V6000.block_rams
    assert block_rams(1025, 5121) == 2 * 15 + 6 * 3
    assert block_rams(1024, 5120, Extras(edge_tables=1, point_tables=2)) == 30 + 5 + 2
    assert block_rams(3600, 19531) == block_rams(4096, 20480) == 120
    assert len(edges_of((16, 16, 15))) > 20480


@pytest.mark.parametrize("kind", ["slabs", "columns", "graph"])
@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_partitions_share_all_points_and_count_every_edge(kind: Partition, parts: int) -> None:
    shape = (6, 5, 7)
    edges, group = edges_of(shape), groups_of(shape, parts, kind)
    plan = schedule(edges, group)
    assert len(plan.points) == parts and plan.points.sum() == 210
    assert np.ptp(plan.points) <= parts - 1
    assert plan.edges_inside + plan.edges_between == len(edges)
    assert plan.slots.sum() == len(edges) + plan.edges_between


def test_columns_and_graph_cut_fewer_edges_than_slabs() -> None:
    """Four slabs of 15 x 15 x 4 cut 1,935 edges; 2 x 2 columns about two cuts of 15 x 16 squares; the graph no more."""
    edges = edges_of(LARGE)
    between = {k: schedule(edges, groups_of(LARGE, 4, k)).edges_between for k in ("slabs", "columns", "graph")}
    assert between["graph"] <= between["columns"] < 0.75 * between["slabs"]


def test_graph_partition_separates_what_is_not_connected() -> None:
    edges = edges_of((3, 3, 3))
    both = np.concatenate([edges, edges + 27])[np.random.default_rng(1).permutation(180)]
    plan = schedule(both, partition(np.zeros((54, 3)), both, 2, "graph"))
    assert plan.edges_between == 0


def test_grid_order_has_no_hazards_and_raster_order_is_refused() -> None:
    edges = edges_of((9, 9, 9))
    check_hazards(edges, 3)
    with pytest.raises(RheotwinError, match="have the same start point"):
        check_hazards(edges[np.argsort(edges[:, 0], kind="stable")], 1)


@pytest.mark.parametrize("latency", [1, 3, 8])
def test_order_without_hazards_has_every_edge_once(latency: int) -> None:
    random = np.random.default_rng(3)
    edges = np.unique(random.integers(0, 60, (400, 2)), axis=0)
    order = hazard_free_order(edges, latency)
    assert sorted(order[order >= 0]) == list(range(len(edges)))
    slots = in_slots(edges, order)
    assert hazards(slots, latency) == 0
    check_hazards(slots, latency)


def test_star_needs_empty_slots() -> None:
    """Edges that all start at one point can go in only every latency + 1 cycles."""
    edges = np.stack([np.zeros(5, np.int64), np.arange(1, 6)], axis=1)
    assert len(hazard_free_order(edges, 3)) == 4 * 4 + 1


SMALL, ONE_GROUP = edges_of((3, 3, 3)), np.zeros(27, np.int64)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: check_memory(predict(Machine(), edges_of((17, 17, 17)), np.zeros(4913, np.int64))), "about 4"),
        (lambda: check_memory(predict(Machine(), SMALL, ONE_GROUP), Device("a", 0, 0, 9, 0)), "9;"),
        (lambda: Machine(modules=0), "at least one module"),
        (lambda: predict(Machine(modules=2), SMALL, ONE_GROUP), "1 groups for 2 modules"),
        (lambda: groups_of((3, 3, 3), 28, "slabs"), "choose 1 to 27"),
    ],
)
def test_what_does_not_fit_is_refused(act: Callable[[], object], words: str) -> None:
    with pytest.raises(RheotwinError, match=words):
        act()


def test_two_chips_send_the_points_of_their_common_plane() -> None:
    """A plane of 15 x 15 points each way, six words each, one a cycle over one line."""
    edges, group = edges_of(LARGE), groups_of(LARGE, 2, "slabs")
    found = exchange(edges, group)
    assert (found.lines.tolist(), found.rounds) == ([1, 1], (225,))
    assert exchange_cycles(found, Links(words=2, depth=5)) == 3 * 225 + 5


@pytest.mark.parametrize("parts", [8, 27, 64])
def test_boxes_have_six_neighbours_at_most_and_time_does_not_grow(parts: int) -> None:
    """5 x 5 x 5 points a chip, whatever their number (section 2.4); edges over corners go through a neighbour."""
    side = 5 * round(parts ** (1.0 / 3.0))
    shape = (side, side, side)
    edges, group = edges_of(shape), groups_of(shape, parts, "boxes")
    found = predict(Machine(modules=parts), edges, group, links=Links())
    assert found.sent is not None and set(found.plan.points) == {125}
    assert found.sent.lines.max() == 6
    # 25 points over a face; eight chips have lines to spare for their corners, others send these in two rounds more.
    assert found.sent.rounds[0] == 25 and len(found.sent.rounds) == (1 if parts == 8 else 3)
    assert max(found.sent.rounds[1:], default=0) < 10
    assert found.sent_cycles == sum(6 * points + 8 for points in found.sent.rounds)
    assert found.slowest_cycles + found.sent_cycles < 1500
    check_memory(found, Device("a small chip", 0, 0, 18, 0))


def test_chips_that_no_lines_can_join_are_refused() -> None:
    star = np.array([[0, k] for k in range(1, 9)])
    with pytest.raises(RheotwinError, match="share edges, have no line, and no chip has lines to both"):
        exchange(star, np.arange(9))


def test_words_of_more_than_a_ram_take_two() -> None:
    """15 RAMs over points and one over edges twice, two of indices once."""
    assert block_rams(1000, 1000, Extras(wide=2)) == 2 * (15 + 1) + 2
