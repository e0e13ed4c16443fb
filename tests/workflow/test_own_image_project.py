"""A project of an image gives the slim image of `trimtab image slim`."""

from pathlib import Path

import pytest
from handmade import oci_image
from machine_root import root_of_programs, tar_of_entered
from many_commands import trimtab
from project import Project

CONFIG = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo b; echo a | sort"], "WorkingDir": "/tmp"}


def test_the_slim_image_and_its_store_are_those_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root_of_programs(tmp_path / "root", ["sh", "sort", "tar", "wc"])
    oci_image(tmp_path / "demo.tar", tar_of_entered(tmp_path / "root"), config=CONFIG)
    words = ("--settle", "1", "--compression", "zstd", "--keep", "shell")
    typed = trimtab(tmp_path, "image", "slim", "demo.tar", *words)
    assert typed.returncode == 0, typed.stderr
    made = trimtab(tmp_path, "new", "mine", "--image", "demo.tar", *words)
    assert made.returncode == 0, made.stderr
    cell = "results/debloat/mine/this_machine"
    project = Project(tmp_path / "mine")
    changes = ("-o", "profiling.repeats=1")
    project.succeed("trimtab", "run", "--cores", "2", *changes, f"{cell}/environment.json")
    ours, theirs = project.folder / cell, tmp_path / "trimtab_workspace"
    assert (ours / "slim.tar").read_bytes() == (theirs / "slim.tar").read_bytes()
    assert contents(ours / "store") == contents(theirs / "store") != {}


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
