from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from rheotwin import __version__
from rheotwin.errors import RheotwinError
from rheotwin.fields import NODE_FIELDS
from rheotwin.record import Manifest, StepInfo, current_environment, load_manifest, save_manifest


def test_round_trip_keeps_every_entry(manifest: Manifest, tmp_path: Path) -> None:
    full = manifest.changed(
        status="diverged",
        message="at node 3",
        case="elastic",
        seeds=(1, 2),
        step=StepInfo(size=1e-3, stable=math.inf, count=7),
        statistics={"edges": np.int64(5), "ratio": np.float64(0.1), "per body": np.arange(2)},
        timings={"solve": 0.1},
        environment=current_environment(threads=2),
    )
    save_manifest(full, tmp_path)
    loaded = load_manifest(tmp_path)
    assert loaded == full
    assert loaded.step.stable == math.inf
    assert loaded.statistics == {"edges": 5, "ratio": 0.1, "per body": [0, 1]}


def test_file_is_strict_json_even_with_undefined_numbers(manifest: Manifest, tmp_path: Path) -> None:
    path = save_manifest(manifest.changed(statistics={"drift": math.nan}), tmp_path)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    assert json.loads(path.read_text(), parse_constant=refuse)["statistics"] == {"drift": "NaN"}


def test_defaults_say_what_wrote_it_and_when(manifest: Manifest) -> None:
    age = datetime.now(UTC) - datetime.fromisoformat(manifest.created)
    assert 0 <= age.total_seconds() < 3600
    assert manifest.rheotwin_version == __version__
    assert manifest.status == "running"
    assert {name: info.unit for name, info in manifest.fields.items()} == {
        name: spec.unit for name, spec in NODE_FIELDS.items()
    }


def test_environment_names_packages_and_leaves_out_absent_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheotwin.record.manifest.RECORDED_PACKAGES", ("numpy", "no-such-package"))
    environment = current_environment()
    assert environment.packages == {"numpy": np.__version__}
    assert environment.threads >= 1


def test_unknown_or_wrong_entries_are_refused(manifest: Manifest) -> None:
    with pytest.raises(ValidationError):
        manifest.changed(stauts="complete")
    with pytest.raises(ValidationError):
        manifest.changed(status="done")
    with pytest.raises(ValidationError):
        manifest.status = "complete"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "not a record (manifest.json is missing)"),
        ("{", "not valid JSON"),
        ("[1]", "a JSON object is expected"),
        ('{"schema_version": 99, "rheotwin_version": "9.0"}', "schema version 99, this Rheotwin"),
        ('{"schema_version": 1}', "solver: Field required"),
    ],
)
def test_unreadable_manifest_is_one_sentence(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RheotwinError) as caught:
        load_manifest(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RheotwinError, match="no such folder"):
        load_manifest(tmp_path / "nothing")


def test_failed_save_keeps_the_old_manifest(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_manifest(manifest, tmp_path)

    def fail(path: Path, text: str, **_: object) -> None:
        path.open("w").write(text[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", fail)
        with pytest.raises(OSError, match="No space"):
            save_manifest(manifest.changed(status="complete"), tmp_path)
    assert load_manifest(tmp_path) == manifest
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
