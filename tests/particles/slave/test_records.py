"""A bar that breaks on a rod, from its scene file to what its record, its checkpoints and its comparison say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import EXIT_OK
from rheotwin.fields import PARTICLE_FIELDS
from rheotwin.record import Record, open_record
from rheotwin.validation import compare, view_of
from tests.conftest import command, cut_off

SCENE = Path(__file__).parents[3] / "scenes" / "rod-3d.toml"
BAR = ("bodies.block.cells=[24, 3, 3]", "bodies.block.size=[0.96, 0.12, 0.12]", "bodies.block.velocity=[0, 0, -3]")
BAR = (*BAR, "duration=0.35", "output.interval=0.05", "output.checkpoint_interval=0.25")
END = 0.35


def broken(folder: str, *changes: str) -> Record:
    """Run the scene with a slender bar thrown down, and return the record."""
    words = [word for change in (*BAR, *changes) for word in ("--set", change)]
    said = command("run", SCENE, "--solver", "slave", "--output", folder, "--quiet", *words)
    assert said.code == EXIT_OK, said.err
    return open_record(Path(folder))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return broken(str(tmp_path_factory.mktemp("rod") / "run"), "output.surface=true")


def test_masters_are_recorded_to_the_end_and_nodes_until_the_split(record: Record) -> None:
    split, particles = record.manifest.statistics["first_split"], record.particles
    assert particles is not None and 0.1 < split < 0.25
    assert particles.times == pytest.approx(np.arange(0.0, END + 1e-9, 0.05)) and record.last_time == pytest.approx(END)
    assert record.times.tolist() == [time for time in particles.times if time < split]
    first, last = particles.cloud(0), particles.cloud(-1)
    assert set(PARTICLE_FIELDS) == set(last.point_data.keys()) == set(record.manifest.particles)
    assert first.n_points == 216 and set(first["piece"]) == {0.0}
    probes = record.probes
    assert np.unique(last["piece"]).size == probes["count.pieces"][-1] == 2
    assert np.bincount(last["piece"].astype(int)).tolist() == [108, 108]
    assert probes["count.pairs_broken"][-1] > 0 == probes["count.pairs_broken"][0]
    changed = probes["count.slaves_added"] - probes["count.slaves_removed"]
    assert (probes["count.slaves"] - probes["count.slaves"][0]).tolist() == changed.tolist()
    assert probes["volume.block"][[0, -1]] == pytest.approx([0.96 * 0.0144, last["volume"].sum()], rel=1e-9)
    i1, i2, j = np.asarray(last["elastic_invariants"]).T
    # of a positive matrix: means of principal values, of their products in pairs, and their product
    assert np.all(i1 / 3.0 >= np.sqrt(i2 / 3.0) - 1e-12) and np.all(np.sqrt(i2 / 3.0) >= np.abs(j) ** (2 / 3) - 1e-12)
    surface = particles.surface(0)
    assert surface is not None and surface.volume == pytest.approx(0.96 * 0.0144, rel=0.15)


def test_a_record_goes_on_bit_for_bit_from_a_split_body(record: Record) -> None:
    """From the checkpoint at 0.25 s, by when it has broken; the frames behind it are written anew."""
    before = [record.particles.cloud(frame) for frame in (-1, -2)] if record.particles is not None else []
    probes = {name: values.copy() for name, values in record.probes.items()}
    cut_off(record.folder, keep_last=False)
    assert command("run", "--resume", record.folder, "--quiet").code == EXIT_OK
    again = open_record(record.folder)
    assert again.particles is not None and again.times.tolist() == record.times.tolist()
    for frame, cloud in zip((-1, -2), before, strict=True):
        assert np.array_equal(again.particles.cloud(frame).points, cloud.points)
        assert all(np.array_equal(again.particles.cloud(frame)[name], cloud[name]) for name in PARTICLE_FIELDS)
    assert all(np.array_equal(again.probes[name], values) for name, values in probes.items())


def test_a_comparison_ends_at_the_split_and_says_so(record: Record, tmp_path: Path) -> None:
    other = broken(str(tmp_path / "other"), "slave.implicitness=0.5")
    found = compare([view_of(record, label="damped"), view_of(other, label="undamped")], reference="damped")
    run = next(run for run in found.cases[0].runs if run.label == "undamped")
    split = other.manifest.statistics["first_split"]
    assert any(f"splits at t = {split:.4g} s" in note for note in run.notes)
    assert run.displacement is not None and run.displacement.times[-1] < split < END
    assert run.cost.real_time_factor is not None and run.cost.wall_time is not None
    assert run.cost.real_time_factor * run.cost.wall_time == pytest.approx(END)


def test_info_and_view_know_particles(record: Record, tmp_path: Path) -> None:
    about = json.loads(command("info", record.folder, "--json").out)
    assert about["last_time_s"] == pytest.approx(END) and about["particle_fields"]["volume"] == "m3"
    pictures = [tmp_path / "velocity.png", tmp_path / "nodes.png"]
    for picture, words in zip(pictures, ((), ("--field", "displacement")), strict=True):
        assert command("view", record.folder, "--screenshot", picture, *words).code == EXIT_OK
        assert picture.is_file()
    said = command("view", record.folder, "--field", "pieces", "--screenshot", tmp_path / "no.png")
    assert "'piece'" in said.err
