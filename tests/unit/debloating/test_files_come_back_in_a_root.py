"""A slim root file system: its linker's configuration has every program load the fallback."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from machine_root import root_of_programs
from returning import missed

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import root_tree

SCRIPT = """
ls /srv /srv/folder; cat /srv/link/hello; cd /srv/folder; sort < ../link/lines
test -e /srv/nothing || echo none; ls -l /usr/bin/sort | cut -c1-10
printf more >> hello; cat hello; rm hello; ls; cat hello
(cd /srv && env sh -c 'cat folder/unread | wc -c')
"""
COMMANDS = ("sh", "env", "ls", "wc", "cat", "sort", "cut", "rm")


def run(root: Path) -> str:
    command = ["/usr/sbin/chroot", root, "/bin/sh", "-c", SCRIPT]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
def test_a_root_runs_as_the_original_without_what_was_removed(tmp_path: Path) -> None:
    root, slim = tmp_path / "root", tmp_path / "slim"
    root_of_programs(root, COMMANDS)
    (root / "srv/folder").mkdir(parents=True)
    (root / "srv/folder/hello").write_text("hello\n")
    (root / "srv/folder/lines").write_text("b\na\n")
    (root / "srv/folder/unread").write_text("x" * 1000)
    (root / "srv/link").symlink_to("/srv/folder")
    subprocess.run(["cp", "-a", root, slim], check=True)
    tree = root_tree(root)
    programs = [path for path in tree.nodes if path.endswith(("/sort", "/cut", "/wc"))]
    alone = [path for path in tree.nodes if "libcrypto" in path]  # sort's, not the others'
    gone = ["/srv/folder", *(path for path in tree.nodes if path.startswith("/srv/folder/"))]
    removed = [*programs, *alone, *gone, "/srv/link"]
    shutil.rmtree(slim / "srv/folder")
    for path in (*programs, *alone, "/srv/link"):
        (slim / path[1:]).unlink()
    add_file_fallback(slim, root, tree, removed, Source(Fallback.PACKED))
    (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    expected = run(root)
    assert "a\nb\nnone\n-rwxr-xr-x\nhello\nmore" in expected and "No such file" in expected
    assert run(slim) == expected
    assert set(missed(slim)) >= {"srv/folder", "srv/link", "srv/folder/hello", *(
        path[1:] for path in programs)}  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
def test_a_setuid_program_takes_no_hook_from_its_user(tmp_path: Path) -> None:
    """The linker loads what its configuration says into such programs too."""
    root, slim = tmp_path / "root", tmp_path / "slim"
    root_of_programs(root, ("sh", "cat", "touch"))
    (root / "hook").write_text("#!/bin/sh\ntouch /tmp/run\n")
    (root / "secret").write_text("secret\n")
    for path, mode in (("hook", 0o755), ("secret", 0o600), ("tmp", 0o777)):
        (root / path).chmod(mode)
    subprocess.run(["cp", "-a", root, slim], check=True)
    (slim / "secret").unlink()
    add_file_fallback(slim, root, root_tree(root), ["/secret"], Source(Fallback.PACKED))
    (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    cat = Path(os.path.realpath(slim / "bin")) / "cat"
    variables = {"TRIMTAB_FALLBACK_HOOK": "/hook", "TRIMTAB_FALLBACK_RECORD": "/tmp/record"}
    command = ["/usr/sbin/chroot", "--userspec=65534:65534", slim, "/bin/cat", "/secret"]
    refused = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert "Permission denied" in refused.stderr  # as in the original
    assert not [path for path in (slim / "tmp").rglob("secret") if b"secret" in path.read_bytes()]
    for name in ("record", "run"):
        (slim / "tmp" / name).unlink(missing_ok=True)
    shutil.rmtree(slim / "tmp/trimtab-cache-65534")
    cat.chmod(0o4755)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert done.stdout == "secret\n"
    assert not list((slim / "tmp").iterdir())
    assert missed(slim) == ["secret"]
