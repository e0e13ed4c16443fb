"""An environment that DVC has touched is built again; another one stays."""

from pathlib import Path

from trimtab.workflow.damaged import remove_damaged_environments


def environment(folder: Path, mode: int) -> Path:
    env = folder / "machine/env"
    (env / "bin").mkdir(parents=True)
    (env / "bin/python").write_text("program")
    (env / "bin/python").chmod(mode)
    (env / "pyvenv.cfg").touch(0o644)
    (env / "link").symlink_to("/bin/sh")
    return env


def test_only_what_cannot_run_is_removed(tmp_path: Path) -> None:
    whole, damaged = environment(tmp_path / "a", 0o755), environment(tmp_path / "b", 0o644)
    (damaged.parent / "manifest.json").touch()
    assert remove_damaged_environments(tmp_path) == [damaged]
    assert (whole / "bin/python").is_file() and not damaged.exists()
    assert (damaged.parent / "manifest.json").is_file()
    assert remove_damaged_environments(tmp_path) == []
    assert remove_damaged_environments(tmp_path / "nothing") == []
