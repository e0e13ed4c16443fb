"""Files appear whole or not at all, also when their writer is killed."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab import files
from trimtab.files import (
    atomic_write,
    new_folder_beside,
    read_json,
    remove_tree,
    replace_folder,
    sha256_of,
    write_json,
    write_whole,
)


def test_a_block_that_raises_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    with pytest.raises(RuntimeError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert read_json(path) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    code = (
        "import os, signal, sys; from pathlib import Path; from trimtab.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as t:\n"
        "    t.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, path])
    assert done.returncode == -signal.SIGKILL
    assert read_json(path) == {"old": True}


def test_permissions_and_folders(tmp_path: Path) -> None:
    path = tmp_path / "a/b/run"
    with atomic_write(path, 0o755) as temporary:
        temporary.write_text("#!/bin/sh\n")
    assert os.access(path, os.X_OK) and path.stat().st_mode & 0o777 == 0o755


def test_a_small_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a/b/object"
    write_whole(path, b"old")
    assert path.read_bytes() == b"old" and path.stat().st_mode & 0o777 == 0o644
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, limits[1]))  # as on a disk that is full
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            write_whole(path, b"new one")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert raised.value.filename == str(path)
    assert path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    assert sha256_of(tmp_path / "abc") == known


@pytest.mark.parametrize("steps", range(6))
def test_a_folder_has_its_name_wherever_its_maker_is_killed(tmp_path: Path, steps: int) -> None:
    """Python tells of each change of the file system before it is made."""
    for name in ("env", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    code = (
        "import os, sys; from pathlib import Path; from trimtab.files import replace_folder\n"
        "seen, changes = 0, {'os.rename', 'os.remove', 'os.rmdir', 'shutil.rmtree'}\n"
        "def hook(event, given):\n"
        "    global seen; seen += event in changes\n"
        "    if seen > int(sys.argv[2]): os._exit(9)\n"
        "sys.addaudithook(hook)\n"
        "replace_folder(Path(sys.argv[1], 'new'), Path(sys.argv[1], 'env'))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path, str(steps)])
    assert (tmp_path / "env/file").read_text() == "new"


def test_a_folder_that_is_the_first(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    replace_folder(tmp_path / "new", tmp_path / "env")
    assert list(tmp_path.iterdir()) == [tmp_path / "env"]


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("kind", ["folder", "file", "link", "dangling link", "loop"])
def test_what_is_in_a_folders_place_goes_and_a_link_is_not_followed(
    tmp_path: Path, kind: str, exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").touch()
    (tmp_path / "workspace").mkdir()
    env = tmp_path / "workspace/env"
    targets = {"link": tmp_path / "outside", "dangling link": "nowhere", "loop": "env"}
    if kind in targets:
        env.symlink_to(targets[kind])
    else:
        env.touch() if kind == "file" else env.mkdir()
    if not exchange:
        monkeypatch.setattr(files, "_rename_exchanging", lambda new, old: errno.EINVAL)
    for number in "12":
        new = new_folder_beside(env)
        (new / "file").write_text(number)
        replace_folder(new, env)
        assert not env.is_symlink() and (env / "file").read_text() == number
        assert list(env.parent.iterdir()) == [env]
    assert (tmp_path / "outside/precious").exists()


def test_removing_takes_links_for_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").touch()
    (tmp_path / "link").symlink_to("outside")
    (tmp_path / "folder/read only").mkdir(parents=True)
    (tmp_path / "folder/link").symlink_to("../outside")
    (tmp_path / "folder/read only").chmod(0o500)
    for name in ("link", "folder", "absent"):
        remove_tree(tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["outside", "precious"]
