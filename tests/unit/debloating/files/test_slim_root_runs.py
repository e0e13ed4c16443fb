"""A root made of this machine's programs runs with nothing but what the closure keeps."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hand_made_root import used
from machine_root import root_of_programs

from trimtab.debloating.files.closure import Kept, kept_paths
from trimtab.debloating.files.closure_rules import KeepReason
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.files.removed_files import selection
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType

SCRIPT = """#!/usr/bin/env sh
ls -l /srv | wc -l
cat /srv/link/hello
command -v sort || echo none
"""
RUN = ("sh", "env", "ls", "wc", "cat")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root_of_programs(root, (*RUN, "sort"))
    (root / "srv/folder").mkdir(parents=True)
    (root / "srv/folder/hello").write_text("hello\n")
    (root / "srv/folder/unread").write_text("x" * 1000)
    (root / "srv/link").symlink_to("../srv/folder")
    (root / "etc/motd").write_text("m")
    (root / "run.sh").write_text(SCRIPT)
    (root / "run.sh").chmod(0o755)
    return root


def slim(tree: FileTree, root: Path, kept: Kept, destination: Path) -> None:
    for path in sorted(kept):
        status = (root / path[1:]).lstat()
        copy = destination / path[1:]
        if stat.S_ISDIR(status.st_mode):
            copy.mkdir()
        elif stat.S_ISLNK(status.st_mode):
            copy.symlink_to(tree.nodes[path].target)
        else:
            shutil.copy2(root / path[1:], copy)


def run(root: Path) -> str:
    command = ["/usr/sbin/chroot", root, "/run.sh"]
    environment = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@as_root
def test_a_slim_root_runs(root: Path, tmp_path: Path) -> None:
    before = run(root)
    assert before.splitlines()[1:] == ["hello", "/usr/bin/sort"]
    tree = root_tree(root)
    programs = [f"/bin/{name}" for name in RUN if name not in ("sh", "env")]
    trace = [
        *used("/run.sh", *programs, uses="execute"),
        *used("/srv/link/hello"),
        *used("/srv", uses="list"),
        *used("/usr/bin/sort", uses="stat"),
    ]
    kept = kept_paths(tree, [trace], environment={"PATH": "/usr/bin:/bin"})
    slim(tree, root, kept, tmp_path / "slim")
    assert run(tmp_path / "slim") == before
    gone = {file.path for file in selection(tree, kept).removed}
    assert {"/srv/folder/unread", "/etc/motd"} <= gone


@as_root
def test_without_the_closure_it_does_not_start(root: Path, tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    tree = root_tree(root)
    kept = kept_paths(tree, [used("/run.sh", "/bin/ls", "/bin/cat", "/bin/wc", uses="execute")])
    for path in [path for path in kept.reasons if "/ld-linux" in path]:
        del kept.reasons[path]
    slim(tree, root, kept, tmp_path / "slim")
    with pytest.raises((AssertionError, FileNotFoundError)):
        run(tmp_path / "slim")


@pytest.mark.parametrize("name", ["ls", "tar", "find", "gcc", "ldconfig"])
def test_ldd_agrees(name: str, tmp_path: Path) -> None:
    """On the libraries of a program, among those of others, and on nothing else."""
    program = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if program is None:
        pytest.skip(f"this machine has no {name}")
    root_of_programs(tmp_path / "root", dict.fromkeys((*RUN, name)))
    said = subprocess.run(["ldd", program], text=True, capture_output=True).stdout.split()
    tree = root_tree(tmp_path / "root")
    kept = kept_paths(tree, [used(program, uses="execute")])
    ours = {
        path
        for path, reasons in kept.reasons.items()
        if tree.nodes[path].kind is FileType.FILE
        and not reasons.keys().isdisjoint({KeepReason.LIBRARY, KeepReason.INTERPRETER})
    }
    assert ours == {os.path.realpath(word) for word in said if word.startswith("/")}
