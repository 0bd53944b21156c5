"""Every tutorial, walked from top to bottom: its files written, its commands run, what it says came out looked for."""

import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.conftest import command

ROOT = Path(__file__).parents[2]
TUTORIALS = [page for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")) if page.stem != "index"]
QUICK = "push-a-foam-block"


def shell(line: str) -> str:
    """Run one line and return what it printed; a line that ends in `# exit code N` leaves with it."""
    first, *words = shlex.split(line, comments=True)
    if first == "rheotwin":
        done = command(*words)
        code, text = done.code, done.out + done.err
    else:
        words = words if first == "python" else ["-m", first, *words]
        ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        code, text = ran.returncode, ran.stdout + ran.stderr
    wanted = re.search(r"# exit code (\d+)", line)
    assert code == (int(wanted[1]) if wanted else 0), text
    return text


def walk(page: Path) -> list[str]:
    """Walk a page in the present folder; return the lines it shows that nothing before them printed."""
    said, missing = "", []
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        if name := re.match(r"# (\S+\.\w+)\n", block):
            Path(name[1]).write_text(block)
        elif language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(compile(block, str(page), "exec"), {})
            said += out.getvalue()
        elif language == "sh":
            for line in block.splitlines():
                said += shell(line)
        elif language == "text":
            missing += [line for line in block.splitlines() if " ".join(line.split()) not in " ".join(said.split())]
    return missing


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.exhaustive] * (page.stem != QUICK)) for page in TUTORIALS],
)
def test_tutorial_runs_and_says_what_it_shows(page: Path) -> None:
    first = (ROOT / "docs" / "tutorials" / f"{QUICK}.md").read_text()
    Path("push.toml").write_text(re.findall(r"^```toml\n(.*?)^```", first, flags=re.DOTALL | re.MULTILINE)[0])
    assert walk(page) == []
