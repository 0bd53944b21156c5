"""Synthetic experiments of a run whose motion is known, and runs held against them; the command line."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import skfem

from rheotwin.__main__ import main
from rheotwin.errors import RheotwinError
from rheotwin.record import BodyInfo, GridTopology, Manifest, MeshInfo, RecordWriter, SolverInfo, open_record
from rheotwin.record.manifest import describe_fields
from rheotwin.validation.experiments.agreement import agreement
from rheotwin.validation.experiments.record import ExperimentRecord
from rheotwin.validation.experiments.synthetic import Noise, from_run, from_view
from rheotwin.validation.experiments.writer import write_experiment
from rheotwin.validation.run_view import RunView, view_of

SILENT = Noise(points=0.0, force=0.0, volume=0.0)
SIZE = np.array([0.1, 0.06, 0.04])
STRETCH = np.array([0.02, -0.03, 0.01])


def block_run(folder: Path, *, size: tuple[float, ...] = (0.1, 0.06, 0.04)) -> Path:
    """A block of hexahedra whose points go to x (1 + t e), e = (0.02, -0.03, 0.01), pressed by a bar with 100 t N."""
    mesh = skfem.MeshHex.init_tensor(*(np.linspace(0.0, edge, 4) for edge in size))
    rest, cells = np.ascontiguousarray(mesh.p.T), mesh.t.T.astype(np.int64)
    body = BodyInfo(name="block", cell="hex", points=len(rest), cells=len(cells))
    topology = GridTopology(cells, "hex", np.zeros(len(cells), dtype=np.int64), len(rest))
    probes = {
        f"tool.bar.{what}_{axis}": unit for what, unit in (("force", "N"), ("displacement", "m")) for axis in "xyz"
    }
    manifest = Manifest(
        title="block",
        scene={"tools": {"bar": {"shape": "bar"}}},
        solver=SolverInfo(name="fem", version="0.1.0"),
        mesh=MeshInfo(hash="abc", points=len(rest), cells=len(cells), bodies=(body,)),
        fields=describe_fields(("displacement", "contact_force")),
        probes=probes | {"volume.block": "m3"},
    )
    with RecordWriter.create(folder, manifest=manifest, grid=topology, format="pvd", overwrite=False) as writer:
        for time in np.linspace(0.0, 1.0, 5):
            moved = rest * STRETCH * time
            contact = np.where((rest[:, [1]] > size[1] - 1e-9) & (rest[:, [0]] < 0.05), [[0.0, -1.0, 0.0]], 0.0)
            writer.write_frame(time, rest + moved, {"displacement": moved, "contact_force": contact})
            values = dict.fromkeys(probes, 0.0) | {
                "tool.bar.force_y": 100.0 * time,
                "tool.bar.displacement_y": -0.03 * 0.06 * time,
                "volume.block": float(np.prod(size) * np.prod(1.0 + STRETCH * time)),
            }
            writer.write_probe_row(time, values)
        writer.update(status="complete")
    return folder


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return block_run(tmp_path_factory.mktemp("run") / "block")


@pytest.fixture(scope="module")
def run(run_folder: Path) -> RunView:
    return view_of(open_record(run_folder))


@pytest.fixture(scope="module")
def silent(run_folder: Path) -> ExperimentRecord:
    return from_run(run_folder, noise=SILENT, seed=1, points=2000)[0]


def test_without_noise_the_run_agrees_with_its_own_experiment(run: RunView, silent: ExperimentRecord) -> None:
    found = agreement(run, silent)
    assert found.shape is not None and found.shape.points == 2000
    assert found.shape.total == 0.0 and found.shape.far == (0, 0, 0, 0)
    assert found.force == pytest.approx(0.0, abs=1e-12) and found.volume == pytest.approx(0.0, abs=1e-12)
    # the force is that on the body, the path that of the tool
    assert silent.force is not None and silent.path is not None
    np.testing.assert_allclose(silent.force.values[-1], [0.0, -100.0, 0.0])
    np.testing.assert_allclose(silent.path.values[-1], [0.0, -0.0018, 0.0])
    assert silent.punch is not None and silent.punch.shape == "box"


def test_the_tool_that_moves_comes_before_the_floor_it_presses_against(run: RunView) -> None:
    floor = {f"tool.a-floor.force_{axis}": np.ones(len(run.probe_times)) for axis in "xyz"}
    scene = {"tools": {"a-floor": {"shape": "plane"}, "bar": {"shape": "bar", "motion": {"times": [0.0, 1.0]}}}}
    both = replace(run, probes=floor | dict(run.probes), manifest=dict(run.manifest) | {"scene": scene})
    assert both.pushers == (("tool", "bar"), ("tool", "a-floor"))
    record, _ = from_view(both, "both", noise=SILENT, seed=1, points=10)
    assert record.force is not None and record.force.values[-1, 1] == pytest.approx(-100.0)
    assert agreement(both, record).force == pytest.approx(0.0, abs=1e-12)


def test_points_lie_on_the_seen_surface_spread_by_area_with_normals_outwards(silent: ExperimentRecord) -> None:
    sides = []
    for frame in silent.frames:
        size = SIZE * (1.0 + STRETCH * frame.time)
        at, normals = frame.points / size, frame.normals
        assert normals is not None and np.minimum(np.abs(at), np.abs(at - 1.0)).min(axis=1).max() < 1e-12
        # outwards: from the middle, and along an axis
        assert (np.einsum("mc,mc->m", frame.points - 0.5 * size, normals) > 0.0).all()
        np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0, atol=1e-9)
        assert not (normals[:, 2] < -0.5).any(), "the floor (z = 0) is not seen"
        # all nodes of the faces left of x = 1/3 of the top are under the bar
        assert not ((normals[:, 1] > 0.5) & (at[:, 0] < 0.33)).any()
        sides.append((normals[:, 0] > 0.5).mean())
    # of the seen area the face x = 1 (no floor, no tool): 6 x 4 of 2 (6 x 4) + 2/3 10 x 4 + 10 x 4 + 10 x 6 cm2
    expected = 24.0 / (48.0 + 40.0 * 2.0 / 3.0 + 40.0 + 60.0)
    # counts of 2000 points scatter by sqrt(p (1 - p)/n); the body's stretch of 3 % moves shares by less than that
    assert np.mean(sides) == pytest.approx(expected, abs=4.0 * np.sqrt(expected / 2000.0))


def test_noise_has_the_size_asked_for(run: RunView, run_folder: Path) -> None:
    noise = Noise(points=1e-3, force=0.1, volume=0.02)
    record, _ = from_run(run_folder, noise=noise, seed=3, points=8000)
    silent, _ = from_run(run_folder, noise=SILENT, seed=3, points=8000)
    moved = [np.linalg.norm(a.points - b.points, axis=1) for a, b in zip(record.frames, silent.frames, strict=True)]
    # mean of 8000 |N(0, sigma)|: its own spread is 0.0756 sigma^... below 1 % of the mean
    assert np.concatenate(moved).mean() == pytest.approx(1e-3, rel=4.0 * 0.76 / np.sqrt(8000.0))
    assert record.force is not None and silent.force is not None
    assert np.abs(record.force.values[1:, 1] / silent.force.values[1:, 1] - 1.0).max() > 0.01
    np.testing.assert_allclose(record.force.sigma, 0.1 * np.abs(silent.force.values[:, 1]))
    assert agreement(run, record).force == pytest.approx(0.1, rel=2.0) and record.uncertainty.mean_abs == 1e-3


def test_tracked_points_are_a_field_that_any_mesh_can_be_held_against(run_folder: Path, run: RunView) -> None:
    record, _ = from_run(run_folder, noise=SILENT, seed=5, points=100, tracked=True, times=[0.3, 1.0])
    for frame in record.frames:
        assert frame.rest is not None
        np.testing.assert_allclose(frame.displacement, frame.rest * STRETCH * frame.time, atol=1e-15)
    found = agreement(run, record)
    assert found.shape is None and [error.time for error in found.tracked] == [0.3, 1.0]
    assert max(error.largest for error in found.tracked) < 1e-15
    assert found.tracked[1].moved == pytest.approx(
        np.sqrt(np.mean(np.sum((record.frames[1].rest * STRETCH) ** 2, axis=1)))
    )


def test_the_same_seed_gives_the_same_record_and_the_seal_holds(run_folder: Path, tmp_path: Path) -> None:
    files = []
    for number, seed in enumerate((7, 7, 8)):
        folder = tmp_path / str(number)
        record, truth = from_run(run_folder, noise=Noise(), seed=seed, points=50)
        write_experiment(folder, record, truth=truth)
        files.append((folder / "clouds" / "frame_00.csv").read_bytes())
        assert sha256((folder / "sealed" / "truth.json").read_bytes()).hexdigest() == record.seal
    assert files[0] == files[1] != files[2]


def test_another_body_and_a_frame_after_the_run_are_refused(run, silent, run_folder: Path, tmp_path: Path) -> None:
    other = view_of(open_record(block_run(tmp_path / "other", size=(0.1, 0.06, 0.05))))
    with pytest.raises(RheotwinError, match=r"about a body from \(0, 0, 0\) to \(0.1, 0.06, 0.04\) m.*same body"):
        agreement(other, silent)
    record, _ = from_run(run_folder, noise=Noise(clock=5.0), seed=2, points=8)
    with pytest.raises(RheotwinError, match="outside the run"):
        agreement(run, record)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"times": [2.0]}, "covers 0 to 1 s"),
        ({"tool": "bars"}, "did you mean 'bar'"),
        ({"points": 0}, "at least one"),
        ({"noise": Noise(points=-1.0)}, "0 or more"),
    ],
)
def test_requests_that_make_no_sense(run_folder: Path, more: dict[str, object], words: str) -> None:
    with pytest.raises(RheotwinError, match=words):
        from_run(run_folder, **({"noise": SILENT, "seed": 0} | more))  # type: ignore[arg-type]


def test_the_verb_makes_checks_and_compares(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*words: object) -> tuple[int, str, str]:
        return main(["experiment", *(str(word) for word in words)]), *capsys.readouterr()

    made = tmp_path / "made"
    words = ("synthesize", run_folder, "--noise", 1e-4, "--seed", 3, "--points", 400, "--output", made)
    code, out, _ = command(*words)
    assert code == 0 and "400" in out
    code, out, err = command(*words)
    assert code == 2 and "--overwrite" in err
    code, out, _ = command("check", made, "--json")
    about = json.loads(out)
    assert code == 0 and about["points"] == 400 and about["kind"] == "synthetic" and about["limits"] == []
    code, out, _ = command("compare", made, run_folder, "--json")
    errors = json.loads(out)
    # noise of 0.1 mm stays below the 0.5 mm from which distances count
    assert code == 0 and errors["S_m"] == 0.0 and 0.0 < errors["force_error"] < 0.5
    (made / "force.csv").write_text("t,fx\n0,0\n")
    code, _, err = command("check", made)
    assert code == 2 and err.count("\n") == 1 and "force.csv" in err
