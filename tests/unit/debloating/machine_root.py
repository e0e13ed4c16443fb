"""A root of a file system made of this machine's programs, so that tests need no other image."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.processes.root import RootFileSystem


def root_of_programs(root: Path, names: Iterable[str]) -> None:
    """Make `root` a folder that has these programs, and what `ldd` says that they need."""
    root.mkdir()
    for path in Path("/").iterdir():
        if path.is_symlink() and not str(path.readlink()).startswith("/"):
            (root / path.name).symlink_to(path.readlink())
            (root / path.readlink()).mkdir(parents=True, exist_ok=True)
    for name in names:
        program = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        assert program
        _take(Path(program), root)
        needs = subprocess.run(["ldd", program], text=True, capture_output=True)  # 1: static
        for word in needs.stdout.split():
            if word.startswith("/"):
                _take(Path(word), root)
    for name in ("etc", "tmp", "proc", "dev", "sys"):
        (root / name).mkdir()
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")


def tar_of_entered(root: Path) -> bytes:
    """Return a root as a tar archive; skips the test where no root can be entered."""
    try:
        with Path(os.devnull).open("wb") as nowhere:
            RootFileSystem(root).start(
                ["/bin/sh", "-c", ":"], Path("/"), None, stdout=nowhere
            ).wait()
    except UserError as error:
        pytest.skip(f"no root can be entered: {error}")
    tar = ["tar", "--create", "--directory", root, "."]
    return subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout


def _take(path: Path, root: Path) -> None:
    """Copy a file of the machine to where it is, by every link of its last component."""
    at = Path(os.path.realpath(path.parent), path.name)
    copy = root / at.relative_to("/")
    if os.path.lexists(copy):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    if at.is_symlink():
        copy.symlink_to(at.readlink())
        _take(at.parent / at.readlink(), root)
    else:
        shutil.copy2(at, copy)
