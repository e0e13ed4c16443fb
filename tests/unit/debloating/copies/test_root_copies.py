"""Copies of whole root file systems: all is as it was, also what leads out of the folder."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.copying import copy_tree
from trimtab.debloating.copies.layout import EnvironmentLayout

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in ("usr/bin", "etc/alternatives", "var/lib/db", "proc"):
        (root / folder).mkdir(parents=True)
    for name in ("usr/bin/su", "usr/bin/tool", "etc/passwd", "var/lib/db/rows", "var/lib/db/gone"):
        (root / name).write_text(name)
    (root / "usr/bin/su").chmod(0o4755)
    links = {
        "bin": "usr/bin",
        "etc/alternatives/tool": "/usr/bin/tool",
        "etc/of_the_host": str(root / "etc/passwd"),
        "etc/out": "../../../../../etc/passwd",
        "etc/dangling": "/no/such",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def facts(root: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        text = os.readlink(path) if path.is_symlink() else ""
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(root))] = (
            status.st_mode, status.st_uid, status.st_gid, text, content
        )  # fmt: skip
    return found


@pytest.mark.parametrize("share", list(Share))
@as_root
def test_nothing_changes(root: Path, tmp_path: Path, share: Share) -> None:
    os.chown(root / "var/lib/db", 1234, 5678)
    os.chown(root / "var/lib/db/rows", 1234, 5678)
    os.chown(root / "bin", 99, 99, follow_symlinks=False)
    os.chown(root / "usr/bin/su", 4321, 4321)
    (root / "usr/bin/su").chmod(0o6711)
    (root / "var/lib/db").chmod(0o2700)
    (root / "proc").chmod(0o555)
    before = facts(root)
    copy_tree(EnvironmentLayout.of_root(root), tmp_path / "copy", set(), share)
    assert facts(tmp_path / "copy") == before == facts(root)


@as_root
def test_capabilities_of_programs_stay(root: Path, tmp_path: Path) -> None:
    # cap_net_bind_service=ep, as linux/capability.h lays it out (VFS_CAP_REVISION_2).
    value = bytes.fromhex("0100000200040000000000000000000000000000")
    try:
        os.setxattr(root / "usr/bin/tool", "security.capability", value)
    except OSError as error:
        pytest.skip(f"no capabilities of files here: {error}")
    copy_tree(EnvironmentLayout.of_root(root), tmp_path / "copy", set(), Share.COPY)
    assert os.getxattr(tmp_path / "copy/usr/bin/tool", "security.capability") == value


def test_links_are_texts(root: Path, tmp_path: Path) -> None:
    copy_tree(EnvironmentLayout.of_root(root), tmp_path / "copy", set(), Share.AUTO)
    links = {name: fact[3] for name, fact in facts(root).items()}
    assert {name: fact[3] for name, fact in facts(tmp_path / "copy").items()} == links


def test_of_a_folder_that_is_left_out_nothing_is_copied(root: Path, tmp_path: Path) -> None:
    left_out = {"var/lib", "etc/dangling", "etc/passwd"}
    copy_tree(EnvironmentLayout.of_root(root), tmp_path / "copy", left_out, Share.AUTO)
    gone = facts(root).keys() - facts(tmp_path / "copy").keys()
    assert gone == left_out | {name for name in facts(root) if name.startswith("var/lib/")}


def test_what_is_mounted_stays_behind(root: Path, tmp_path: Path) -> None:
    mount = f"mount -t tmpfs none {root}/proc && touch {root}/proc/mounted"
    code = (
        "import sys; from pathlib import Path;"
        "from trimtab.config.groups.debloat import Share;"
        "from trimtab.debloating.copies.copying import copy_tree;"
        "from trimtab.debloating.copies.layout import EnvironmentLayout;"
        "layout = EnvironmentLayout.of_root(Path(sys.argv[1]));"
        "copy_tree(layout, Path(sys.argv[2]), set(), Share.AUTO)"
    )
    script = f'{mount} || exit 99; exec "$@"'
    unshare = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    python = [sys.executable, "-c", code, root, tmp_path / "copy"]
    done = subprocess.run(
        [*unshare, "sh", "-c", script, "sh", *python],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert facts(tmp_path / "copy").keys() == facts(root).keys()
