"""Files appear whole or not at all, also when their writer is killed."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from trimtab.files import read_json, replace_folder, sha256_of, whole_file, write_json


def test_a_block_that_raises_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert read_json(path) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    code = (
        "import os, signal, sys; from pathlib import Path; from trimtab.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as t:\n"
        "    t.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, path])
    assert done.returncode == -signal.SIGKILL
    assert read_json(path) == {"old": True}


def test_permissions_and_folders(tmp_path: Path) -> None:
    path = tmp_path / "a/b/run"
    with whole_file(path, 0o755) as temporary:
        temporary.write_text("#!/bin/sh\n")
    assert os.access(path, os.X_OK) and path.stat().st_mode & 0o777 == 0o755


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    assert sha256_of(tmp_path / "abc") == known


def test_a_folder_has_its_name_at_every_moment(tmp_path: Path) -> None:
    """Somebody who looks all the time always finds a whole one."""
    name = tmp_path / "env"

    def make(number: int) -> Path:
        new = tmp_path / "new"
        new.mkdir()
        (new / "number").write_text(str(number))
        return new

    replace_folder(make(0), name)
    stop, missed = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            try:
                (name / "number").stat()
            except OSError:
                # Its folder may have gone between the two names; the name leads to another then.
                if not name.exists():
                    missed.append(True)

    looking = threading.Thread(target=look)
    looking.start()
    for number in range(1, 300):
        replace_folder(make(number), name)
    stop.set()
    looking.join()
    assert not missed
    assert (name / "number").read_text() == "299"
    assert list(tmp_path.iterdir()) == [name]
