"""The package as a newcomer meets it."""

import re
import subprocess
import sys
from pathlib import Path

from support import example

import kreisel

ROOT = Path(__file__).parents[1]


def test_the_code_in_the_readme_runs(capsys):
    names = {}  # a block may go on where the one before it ended
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        exec(compile(code, "README.md", "exec"), names)
    assert capsys.readouterr().out


def test_importing_brings_in_nothing_heavy():
    code = "import sys, kreisel; print([m for m in ('numba', 'scipy', 'matplotlib', 'mpmath') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_example_of_a_group_of_ones_own(capsys):
    galilei = example("galilei").GALILEI
    assert galilei.interpolate(galilei.identity(), galilei.exp([0.1] * 10), 1.0).shape == (16,)


def test_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo = example("groups")
    assert max(demo.laws(G, 50) for G in demo.GROUPS) < 1e-14
    demo.picture(tmp_path / "out" / "groups.png")
    assert (tmp_path / "out" / "groups.png").stat().st_size > 10_000


def test_modules_of_their_own_are_there_when_asked_for():
    names = "kr.rotations.Cayley, kr.frames.Transform, kr.inertia.box, kr.exact.FreeBody"
    code = f"import sys, kreisel as kr; {names}; print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
    assert {"exact", "frames", "inertia", "rotations", "view"} <= set(dir(kreisel))
