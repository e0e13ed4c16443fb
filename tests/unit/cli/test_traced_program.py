"""What a workspace keeps of a program: any argument and any path is read as it was written."""

import os
from pathlib import Path

from trimtab.cli.documents import TracedProgram
from trimtab.config.groups.workload import Workload

WORDS = ("python", "", os.fsdecode(b"caf\xe9"), r"\xff", "\\\\", "a\nb", "\x1b[1m")


def test_texts_are_read_as_they_were_written(tmp_path: Path) -> None:
    python, value = os.fsdecode(b"/\xe9/bin/python"), os.fsdecode(b"\xff")
    workload = Workload(name="one", command=[*WORDS], python=python, env={"A": value})
    TracedProgram(workload=workload).write(tmp_path / "workload.json")
    assert TracedProgram.read(tmp_path / "workload.json").workload == workload
    (tmp_path / "workload.json").read_bytes().decode("utf-8", "strict")
