"""A program that is setuid root: its slim environment is judged as any other."""

import os
from pathlib import Path

import pytest
from machine_root import root_of_programs, tar_of_entered

from trimtab.cli.verbs import command_line
from trimtab.files import read_json

app = command_line()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace a program that is setuid root")
def test_it_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No library that such a program loads may load ours, so that files alone tell it."""
    root = tmp_path / "root"
    root_of_programs(root, ["sh", "cat"])
    tar_of_entered(root)  # or skipped
    (root / "data").write_text("data\n")
    cat = Path(os.path.realpath(root / "bin"), "cat")
    cat.chmod(0o4755)
    monkeypatch.chdir(tmp_path)
    command = ["--target", f"root_folder:{root}", "--", "/bin/cat", "/data"]
    app(["debloat", "--settle", "1", *command], standalone_mode=False)
    slim = tmp_path / "trimtab_workspace/env" / cat.relative_to(root)
    assert slim.stat().st_mode & 0o7777 == 0o4755
    capsys.readouterr()
    app(["verify", "--repeats", "1"], standalone_mode=False)
    assert "equal output in every run" in capsys.readouterr().err
    [workload] = read_json(tmp_path / "trimtab_workspace/verify.json")["workloads"]
    assert workload["equal"] and workload["clean_runs"] == workload["slim_runs"] == 2
