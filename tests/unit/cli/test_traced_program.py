"""What a workspace keeps of a program: any argument and any path is read as it was written."""

import os
import sys
from pathlib import Path

import pytest

from trimtab.cli.documents import TracedProgram
from trimtab.cli.workspace import find_interpreter, trace
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError

WORDS = ("python", "", os.fsdecode(b"caf\xe9"), r"\xff", "\\\\", "a\nb", "\x1b[1m")


def test_texts_are_read_as_they_were_written(tmp_path: Path) -> None:
    python, value = os.fsdecode(b"/\xe9/bin/python"), os.fsdecode(b"\xff")
    workload = Workload(name="one", command=[*WORDS], python=python, env={"A": value})
    TracedProgram(workload=workload).write(tmp_path / "workload.json")
    assert TracedProgram.read(tmp_path / "workload.json").workload == workload
    (tmp_path / "workload.json").read_bytes().decode("utf-8", "strict")


def test_a_script_that_is_no_program_is_told_how_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    with pytest.raises(UserError, match=r"mine\.py: a script, .* `python mine\.py`"):
        trace(tmp_path / "w", ["mine.py"])
    with pytest.raises(UserError, match=r"other\.py: no such program"):
        trace(tmp_path / "w", ["other.py"])


def test_a_script_that_starts_an_interpreter_stands_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyenv's do, which are first in PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    shim, script = tmp_path / "python3", tmp_path / "mine"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.write_text("#!/usr/bin/env python3\n")
    for path in (shim, script):
        path.chmod(0o755)
    assert find_interpreter(["python3"]) == find_interpreter(["mine"]) == Path(sys.executable)
    shim.write_text("#!/bin/sh\nexit 1\n")
    assert find_interpreter(["python3"]) == shim
