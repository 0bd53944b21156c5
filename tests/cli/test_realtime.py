"""`rheotwin realtime`: the search, the bodies it times, and what it prints."""

import json

import pytest

from rheotwin.errors import EXIT_OK
from rheotwin.meshing import truss_edges
from rheotwin.particles.realtime import Body, counted_edges, largest_bodies, scene_data, timed_body
from rheotwin.validation.checks.running import problem_of
from tests.conftest import command


@pytest.mark.parametrize("extras", [False, True])
def test_timed_body_is_the_five_tet_truss(extras: bool) -> None:
    problem = problem_of(scene_data((4, 4, 5), extras=extras))
    assert len(truss_edges(problem.bodies[0].mesh)) == counted_edges((4, 4, 5))
    assert len(problem.tools) == extras
    body = timed_body(4, extras=extras, seconds=0.01, options={})
    assert (body.particles, body.edges) == ((4, 4, 5), counted_edges((4, 4, 5)))
    assert 1e-7 < body.step_seconds < 0.1


def test_search_finds_the_largest_body_and_times_each_once() -> None:
    """A machine that takes 10 ns an edge: 10 kHz hold 10,000 edges, 1 kHz 100,000."""
    timed: list[int] = []

    def measure(side: int) -> Body:
        timed.append(side)
        particles = (side, side, side + 1)
        return Body(particles, counted_edges(particles), 1e-8 * counted_edges(particles))

    found = list(largest_bodies([100.0, 1e3, 1e4, 1e6], extras=False, most_edges=200_000, measure=measure))
    assert [held.rate for held in found] == [1e6, 1e4, 1e3, 100.0] and found[0].body is None
    for held, edges in zip(found[1:3], (10_000, 100_000), strict=True):
        assert held.body is not None
        side = held.body.particles[0]
        assert counted_edges((side, side, side + 1)) <= edges < counted_edges((side + 1, side + 1, side + 2))
        assert not held.limited
    last = found[3]
    assert last.limited and last.body is not None and last.published == 2857
    side = last.body.particles[0]
    assert last.body.edges <= 200_000 < counted_edges((side + 1, side + 1, side + 2))
    assert len(timed) == len(set(timed))


def test_command_prints_a_table_and_json() -> None:
    words = ("realtime", "--rates", "20,1e9", "--most-edges", "400", "--seconds", "0.01")
    said = command(*words)
    assert said.code == EXIT_OK
    lines = said.out.splitlines()
    assert len(lines) == 5 and "particles" in lines[0] and "published" in lines[0]
    assert "none" in lines[1] and "on" in lines[3]
    assert "4 x 4 x 5" in lines[2] and ">= " in lines[2]
    data = json.loads(command(*words, "--extras", "off", "--json").out)
    assert [item["rate"] for item in data] == [1e9, 20.0] and data[0]["body"] is None
    assert data[1]["body"]["edges"] == counted_edges((4, 4, 5)) and data[1]["limited"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--rates", "fast"), "--rates fast"),
        (("--rates", "0,10"), "--rates 0,10"),
        (("--set", "fem.step=1"), "--set fem"),
        (("--set", "truss.stepp=1"), "did you mean 'step'"),
        (("--most-edges", "0"), "--most-edges"),
    ],
)
def test_bad_requests(words: tuple[str, ...], named: str) -> None:
    said = command("realtime", *words)
    assert said.code == 2 and named in said.err and said.out == ""
