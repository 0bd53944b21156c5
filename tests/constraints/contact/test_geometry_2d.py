"""Vertices at edges of other bodies and of their own: hand-made cases."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import build_mesh

Make = Callable[..., Any]


def square(x: float, y: float, size: float = 1.0) -> Any:
    corners = np.array([[0, 1, 1, 0], [0, 0, 1, 1]]) * size + np.array([[x], [y]])
    return build_mesh("quad", corners, np.arange(4)[:, None])


def moved(points: np.ndarray, nodes: slice | list[int], by: tuple[float, float]) -> np.ndarray:
    end = points.copy()
    end[nodes, :2] += by
    return end


def test_vertex_at_an_edge(detector: Make) -> None:
    """The lower right corner of the upper square dips into the lower square's top, a quarter along it."""
    found = detector(square(0.0, 0.0), square(-0.75, 1.01))
    pairs = found.find(found.rest, moved(found.rest, slice(4, 8), (0.0, -0.03)))
    at_top = [pair for pair in pairs if pair.node[0] == 5]
    assert len(at_top) == 1
    assert at_top[0].gap == pytest.approx(-0.02, abs=1e-15)
    assert at_top[0].normal == pytest.approx([0.0, 1.0, 0.0])
    assert at_top[0].point == pytest.approx([0.25, 1.0, 0.0])
    # the top runs from node 2 at x = 1 to node 3 at x = 0
    assert dict(zip(at_top[0].node.tolist(), at_top[0].weight, strict=True)) == pytest.approx(
        {5: 1.0, 2: -0.25, 3: -0.75, -1: 0.0}
    )
    # and the lower square's corner sees the other's bottom
    assert sorted(pair.node[0] for pair in pairs) == [3, 5]


@pytest.mark.parametrize("gap", [0.0, 1e-13, -1e-13, -1e-3])
def test_blocks_with_aligned_nodes(detector: Make, gap: float) -> None:
    """Corner on corner: the vertex takes the face it is pressed on, not the side that it is flush with."""
    found = detector(square(0.0, 0.0), square(0.0, 1.0 + max(gap, 0.0)))
    pairs = found.find(found.rest, moved(found.rest, slice(4, 8), (0.0, min(gap, 0.0))), region=1e-9)
    assert sorted(pair.node[0] for pair in pairs) == [2, 3, 4, 5]
    for pair in pairs:
        assert pair.normal == pytest.approx([0.0, 1.0 if pair.node[0] > 3 else -1.0, 0.0], abs=1e-9)
        assert pair.gap == pytest.approx(gap, abs=2e-16)


def test_nothing_beyond_the_region(detector: Make) -> None:
    found = detector(square(0.0, 0.0), square(0.5, 1.1))
    assert found.find(found.rest, found.rest, region=0.09) == []
    assert len(found.find(found.rest, found.rest, region=0.11)) == 2


@pytest.mark.parametrize("between", [True, False])
def test_bodies_pass_through_each_other_when_told_so(detector: Make, between: bool) -> None:
    found = detector(square(0.0, 0.0), square(0.5, 0.9), between=between)
    assert bool(found.find(found.rest, found.rest)) == between


def wedge(triangle: Make, angle: float) -> Any:
    """A wedge of length 1 with its tip at the origin and its axis along -x."""
    height = np.tan(np.radians(angle) / 2.0)
    return triangle((-1.0, height), (-1.0, -height), (0.0, 0.0))


def needle(triangle: Make, tip: tuple[float, float]) -> Any:
    """A body far above but for its tip, which points down."""
    return triangle(tip, (tip[0] + 0.2, tip[1] + 3.0), (tip[0] - 0.2, tip[1] + 3.0))


@pytest.mark.parametrize("angle", [10.0, 20.0, 40.0])
@pytest.mark.parametrize("depth", [0.2, 0.5, 0.8])
def test_vertex_leaves_a_wedge_through_the_face_it_entered(
    detector: Make, triangle: Make, angle: float, depth: float
) -> None:
    """A mass pushed through the upper face, at the given share of the height there, goes back out by K g n alone."""
    at, half = -0.5, np.tan(np.radians(angle) / 2.0) / 2.0
    found = detector(wedge(triangle, angle), needle(triangle, (at, half + 1e-3)))
    x = found.rest.copy()
    end = moved(x, slice(3, 6), (0.0, -1e-3 - 2.0 * half * depth))
    upper = np.array([np.sin(np.radians(angle) / 2), np.cos(np.radians(angle) / 2), 0.0])
    speed, steps = np.zeros(3), 0
    pairs = [pair for pair in found.find(x, end) if pair.node[0] == 3]
    while pairs:
        assert len(pairs) == 1
        assert pairs[0].normal == pytest.approx(upper)
        speed -= 0.05 * pairs[0].gap * pairs[0].normal
        x, end = end, end.copy()
        end[3:] += 0.1 * speed
        pairs = [pair for pair in found.find(x, end) if pair.node[0] == 3]
        steps += 1
    assert 2 < steps < 500
    # outside of the upper face, whose plane goes through the tip
    assert end[3] @ upper > 0.0


def test_nearest_face_without_history(detector: Make, triangle: Make) -> None:
    """A step that begins inside a wedge leaves by the nearer face."""
    half = 0.5 * np.tan(np.radians(15.0))
    for share, sign in ((0.2, 1.0), (0.8, -1.0)):
        body = needle(triangle, (-0.5, half * (1.0 - 2.0 * share)))
        found = detector(wedge(triangle, 30.0), body)
        pairs = [pair for pair in found.find(found.rest, found.rest) if pair.node[0] == 3]
        assert [np.sign(pair.normal[1]) for pair in pairs] == [sign]


def test_fast_vertex_does_not_tunnel(detector: Make, triangle: Make) -> None:
    """A tip that crosses a thin plate and stands clear of it after the step is still held by the face it entered."""
    plate = build_mesh("quad", np.array([[-1.0, 1.0, 1.0, -1.0], [0.0, 0.0, 0.01, 0.01]]), np.arange(4)[:, None])
    found = detector(plate, needle(triangle, (0.2, 0.05)))
    begin, end = found.rest, moved(found.rest, slice(4, 7), (0.03, -0.4))
    tip = [pair for pair in found.find(begin, end) if pair.node[0] == 4]
    assert len(tip) == 1
    assert tip[0].gap == pytest.approx(-0.36)
    assert tip[0].normal == pytest.approx([0.0, 1.0, 0.0])
    # a tip that stood there from the beginning has nothing to do with the plate
    fresh = detector(plate, needle(triangle, (0.2, -0.35)))
    assert [pair for pair in fresh.find(fresh.rest, fresh.rest) if pair.node[0] == 4] == []


def test_contact_slides_to_the_next_edge(detector: Make, triangle: Make) -> None:
    """A tip dragged along a bent floor keeps contact; gap and normal are those of the floor below it."""
    x = np.linspace(0.0, 4.0, 9)
    bend = 0.1 * x**2
    points = np.concatenate([np.stack([x, bend]), np.stack([x, bend - 1.0])], axis=1)
    floor = build_mesh("quad", points, np.array([[k + 9, k + 10, k + 1, k] for k in range(8)]).T)
    found = detector(floor, needle(triangle, (0.2, np.interp(0.2, x, bend) + 1e-3)))
    places = np.linspace(0.2, 3.7, 40)
    begin = found.rest
    for place in places:
        end = found.rest.copy()
        end[18:, :2] += [place - 0.2, np.interp(place, x, bend) - 0.01 - found.rest[18, 1]]
        tip = [pair for pair in found.find(begin, end) if pair.node[0] == 18]
        assert len(tip) == 1
        assert -0.0101 < tip[0].gap < -0.0075
        below = np.interp(tip[0].point[0], x, bend)
        assert tip[0].point[1] == pytest.approx(below, abs=1e-12)
        begin = end


def test_lobes_of_one_body_touch(detector: Make) -> None:
    """A horseshoe whose upper lobe is pressed onto the lower one: self contact by crossing only."""
    x, y = np.meshgrid(np.linspace(0.0, 3.0, 7), [0.0, 0.5, 1.0, 1.5], indexing="ij")
    number = np.arange(28).reshape(7, 4)
    cells = [
        [number[i, j], number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]]
        for i in range(6)
        for j in range(3)
        if not (j == 1 and i > 0)
    ]
    used, compact = np.unique(cells, return_inverse=True)
    mesh = build_mesh("quad", np.stack([x.ravel(), y.ravel()])[:, used], compact.reshape(-1, 4).T)
    found = detector(mesh, self_bodies=(0,))
    assert found.find(found.rest, found.rest, region=0.1) == []
    end, upper = found.rest.copy(), found.rest[:, 1] > 0.75
    end[upper, 1] -= 0.2 * np.maximum(end[upper, 0] - 0.25, 0.0)
    pairs = found.find(found.rest, found.rest + 0.5 * (end - found.rest))
    assert pairs == []
    pairs = found.find(found.rest, end)
    assert {(round(pair.point[0], 1), np.sign(pair.normal[1])) for pair in pairs} >= {(3.0, 1.0), (3.0, -1.0)}
    assert all(pair.gap < 0.0 for pair in pairs)
    # without the step that made them they are not contacts: everything is on its own surface
    fresh = detector(mesh, self_bodies=(0,))
    assert fresh.find(end, end) == []


def test_squeezed_thin_body_does_not_touch_itself(detector: Make) -> None:
    x, y = np.meshgrid(np.linspace(0.0, 2.0, 9), [0.0, 0.25, 0.5], indexing="ij")
    number = np.arange(27).reshape(9, 3)
    rings = (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    cells = np.stack([corner.ravel() for corner in rings])
    found = detector(build_mesh("quad", np.stack([x.ravel(), y.ravel()]), cells), self_bodies=(0,))
    begin = found.rest
    for squeeze in np.geomspace(1.0, 0.05, 30):
        end = found.rest * [1.0 / squeeze, squeeze, 0.0]
        assert found.find(begin, end, region=0.005) == []
        begin = end
