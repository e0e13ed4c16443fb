"""Run as root, a program can be run as another user: traced, slimmed and verified as that one."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.cli import workspace
from trimtab.cli.program_options import ProgramOptions
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.workload import TargetConfig
from trimtab.errors import UserError
from trimtab.processes.as_user import User
from trimtab.records.verdict import Verdict

NAMES = ["used", *(f"unused_{i}" for i in range(8))]
LIBRARY = "".join(f"int {name}(int x) {{ return x + 1; }}\n" for name in NAMES)
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int used(int), unused_3(int);
int main(int count, char **words) {
  printf("%d %d %s %d\\n", getuid(), getgid(), getenv("HOME"), used(1));
  if (count > 1) {
    FILE *file = fopen(words[1], "w");
    if (!file) return perror(words[1]), 1;
    fclose(file);
  }
  return getenv("MORE") ? unused_3(-1) : 0;
}
"""


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place that everybody may get to, with a program in it."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    for name in ("bin", "lib"):
        (place / "program" / name).mkdir(parents=True)
    link = [f"-L{place}/program/lib", "-lp", "-Wl,-rpath,$ORIGIN/../lib"]
    library = ["-shared", "-fPIC", "-falign-functions=4096", "-o", place / "program/lib/libp.so"]
    for source, options in ((LIBRARY, library), (PROGRAM, ["-o", place / "program/bin/p", *link])):
        command = ["gcc", "-O1", "-x", "c", "-", "-x", "none", *options]
        subprocess.run(command, input=source, text=True, check=True)
    monkeypatch.chdir(place)
    yield place
    shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_a_program_is_traced_slimmed_and_verified_as_another_user(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TargetConfig("native_folder", "program")
    options = ProgramOptions(target=target, user="nobody")
    folder = project / "workspace"
    workspace.trace(folder, ["program/bin/p", "{output}/written"], options, 1)
    options = Debloat(name="x", remove=Remove.CODE, minimum_hole_bytes=4096)
    workspace.debloat(folder, options, [], 2, lambda *_: None, lambda *_: None)
    monkeypatch.setenv("MORE", "1")
    verdict = Verdict.read(workspace.verify(folder, 2))
    assert verdict.passed and [call.name for call in verdict.removed_calls] == ["unused_3"]
    nobody = pwd.getpwnam("nobody")
    [stdout, *_] = sorted(folder.glob("runs/original-0.stdout"))
    said = f"{nobody.pw_uid} {nobody.pw_gid} {nobody.pw_dir} 2\n"
    assert stdout.read_text() == said
    assert (folder / "runs/output/written").stat().st_uid == nobody.pw_uid
    assert (folder / "env/bin/p").stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_a_workspace_that_the_user_cannot_get_to(project: Path) -> None:
    options = ProgramOptions(target=TargetConfig("native_folder", "program"), user="nobody")
    (project / "closed").mkdir(mode=0o700)
    with pytest.raises(UserError, match=rf"{project}/closed: the user nobody.*may not enter"):
        workspace.trace(project / "closed/workspace", ["program/bin/p"], options, 1)


def program(project: Path, *code: str) -> str:
    path = project / "program.sh"
    path.write_text("\n".join(["#!/bin/sh", *code, f"exec {project}/program/bin/p"]) + "\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_what_the_user_may_not_read_is_not_read_for_it(project: Path) -> None:
    (project / "secret").write_text("of root alone\n")
    (project / "secret").chmod(0o600)
    (project / "place").mkdir()
    (project / "place").chmod(0o777)
    target = TargetConfig("native_folder", "program")
    options = ProgramOptions(target=target, user="nobody", output=project / "place/out")
    command = program(project, f"ln -sf {project}/secret {project}/place/out")
    with pytest.raises(UserError, match=r"output.path: .*/out: no file that the user nobody, "):
        workspace.trace(project / "workspace", [command], options, 1)
    kept = [path for path in (project / "workspace").rglob("*") if path.is_file()]
    assert kept and not any(b"of root" in path.read_bytes() for path in kept)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_caches_that_the_user_had_are_not_written_to_as_root(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with cold caches puts links in their place, before the one with warm ones."""
    (project / "cache/model").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    for name in ("elsewhere", "mine"):
        (project / name).mkdir()
        (project / name / "file").touch()
    os.chown(project / "mine", *pwd.getpwnam("nobody")[2:4])
    command = program(
        project,
        f'[ -z "$CUDA_CACHE_PATH" ] || [ -L "$XDG_CACHE_HOME" ] || '
        f'(rm -r "$XDG_CACHE_HOME" "$CUDA_CACHE_PATH"; ln -s {project}/elsewhere "$XDG_CACHE_HOME"'
        f'; ln {project}/mine/file "$CUDA_CACHE_PATH"; touch {project}/mine/done)',
    )
    (project / "mine/file").chmod(0o666)  # so that a hard link to it may be made
    options = ProgramOptions(target=TargetConfig("native_folder", "program"), user="nobody")
    workspace.trace(project / "workspace", [command], options, 3)
    assert (project / "mine/done").exists()
    assert [path.name for path in (project / "elsewhere").iterdir()] == ["file"]
    assert (project / "mine/file").stat().st_uid == 0


def test_who_may_not_and_who_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UserError, match="user: no-such-user: there is no such user"):
        User.named("no-such-user")
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(UserError, match="user: nobody: only root can"):
        User.named("nobody")
