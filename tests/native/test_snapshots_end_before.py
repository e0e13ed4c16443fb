"""What cannot be in a snapshot ends it before, and what is damaged is not gone on from."""

import os
import resource
import shutil
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from saved_starts import Slim

from trimtab.debloating.snapshots.guards import digest_of_names
from trimtab.debloating.snapshots.saving import NotSavedError

# Each line runs between two imports; what the last one prints has to be as in a usual start.
USUAL = {
    "text without a newline": ("print('early', end='')", "print('late')"),
    "text of C": ("import ctypes; ctypes.CDLL(None).printf(b'early')", "print('late')"),
    "a removed file": ("os.unlink('file')", "print(os.path.exists('file'))"),
    "a folder": ("os.mkdir('made')", "print(os.path.exists('made'))"),
    "a file": ("open('made', 'x').close()", "print(os.path.exists('made'))"),
    "an open file": ("file = open(__file__)", "print(file.fileno(), file.readline())"),
    "a socket": (
        "import socket; ours = socket.socket()",
        "print(ours.fileno(), ours.getsockname())",
    ),
    "a pipe": ("ends = os.pipe()", "print(os.write(ends[1], b'x'), os.read(ends[0], 1))"),
    "a thread": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "print(threading.active_count())",
    ),
    "a child": (
        "child = os.fork() or os._exit(3)",
        "print(os.waitpid(child, 0)[0] == child)",
    ),
    "its number": ("number = os.getpid()", "print(number == os.getpid())"),
    "its folder": ("os.chdir('/')", "print(os.getcwd())"),
    "its mask": ("os.umask(0o077)", "print(os.umask(0))"),
    "its streams": ("kind = os.fstat(1).st_mode", "print(kind == os.fstat(1).st_mode)"),
    "blocked signals": (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    ),
    "an alarm": ("import signal; signal.alarm(100)", "print(signal.alarm(0) > 0)"),
    "the recorder's signal": (
        "import signal; signal.signal(signal.SIGSYS, lambda *_: print('a call'))",
        "os.kill(os.getpid(), signal.SIGSYS)",
    ),
    "a limit": (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "print(resource.getrlimit(resource.RLIMIT_CORE))",
    ),
    "a signal at its parent's end": (
        "import ctypes; ctypes.CDLL(None).prctl(1, 9)",
        "has = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(has)); print(has.value)",
    ),
    "a name": (
        "import ctypes; ctypes.CDLL(None).prctl(15, b'another name')",
        "print(open('/proc/self/comm').read())",
    ),
    "memory that is shared": ("import mmap; page = mmap.mmap(-1, 4096)", "print(page[0])"),
    "memory that children lack": (
        "import mmap; page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE); page.madvise(10)",
        "print(page[0])",
    ),
    "memory that is zero in children": (
        "import mmap; page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE); page.madvise(18)",
        "page[0] = 9; child = os.fork() or os._exit(page[0]); print(os.waitpid(child, 0)[1])",
    ),
    "what a command is": ("file = open('/proc/self/cmdline'); command = file.read(); file.close()",
        "print(command)"),
    "a finalizer": (
        "from multiprocessing import util; kept = util.Finalize(None, print, exitpriority=1)",
        "pass",
    ),
}  # fmt: skip
# What each process has another of.
OTHER = {
    "time": "import time; own = time.time_ns()",
    "a date": "import datetime; own = datetime.datetime.now()",
    "a clock": "import time; own = time.monotonic_ns()",
    "an identifier": "import uuid; own = uuid.uuid4()",
    "a secret": "import secrets; own = secrets.token_hex()",
    "bytes by chance": "with open('/dev/urandom', 'rb', 0) as file: own = file.read(8)",
}


@pytest.mark.parametrize("hazard", USUAL)
def test_it_is_as_in_a_usual_start(slim: Slim, hazard: str) -> None:
    early, late = USUAL[hazard]
    slim.write(f"import json\n{early}\nimport decimal\n{late}\nsys.stdout.flush()\n")
    (slim.folder / "file").touch()
    next_act = slim.save()
    assert next_act
    made = slim.folder / "made"
    assert (slim.folder / "file").exists() and not made.exists()
    found = slim.run()
    shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    (slim.folder / "file").touch()
    usual = slim.run(variables={"TRIMTAB_SNAPSHOT_FAILED": "1"})
    assert found[:2] == usual[:2]
    assert "went on: 1" in found[2]


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("where", ["program", "own"])
def test_each_process_has_its_own(slim: Slim, kind: str, where: str) -> None:
    """Also in a module beside the program."""
    code = OTHER[kind] + "\nimport decimal\n"
    if where == "own":
        slim.write("import json\nfrom own import own\nprint(own)\n", own=code)
    else:
        slim.write(f"import json\n{code}print(own)\n")
    slim.save()
    runs = [slim.run() for _ in range(2)]
    assert runs[0][1] != runs[1][1]
    assert [errors for _, _, errors in runs] == ["went on: 1\n"] * 2


def test_a_process_with_nothing_to_save_is_not_saved(slim: Slim) -> None:
    slim.write("print('early')\nsys.stdout.flush()\nimport json\n")
    with pytest.raises(NotSavedError, match="no import comes before this: it calls write"):
        slim.save()
    assert not slim.snapshots.exists()


@contextmanager
def limited(size: int) -> Iterator[None]:
    """As on a disk that is full: no file may grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [1 << 18, 3 << 20])
def test_a_full_disk_leaves_no_snapshot(slim: Slim, size: int) -> None:
    slim.write("import json\n")
    with limited(size), pytest.raises(NotSavedError):
        slim.save()
    assert not (slim.snapshots / "guards").exists()
    assert slim.run()[2] == "went on: 0\n"


@pytest.fixture
def damaged(slim: Slim) -> Iterator[Slim]:
    slim.write("import json\nprint(json.dumps(['as', 'usual']))\n")
    slim.save()
    assert slim.run()[2] == "went on: 1\n"
    yield slim


def test_a_damaged_image_is_not_gone_on_from(damaged: Slim) -> None:
    """Cut off, or another bit in what comes before the pages."""
    [image] = damaged.snapshots.glob("image-*")
    whole = image.read_bytes()
    size = struct.unpack_from("<Q", whole, 16)[0]  # image.h
    places = [*range(0, 128, 9), *range(128, size, size // 12)]
    pieces = [whole[:length] for length in (0, 1, 100, size, len(whole) // 2, len(whole) - 1)]
    flipped = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in places]
    for content in (*pieces, *flipped):
        image.write_bytes(content)
        assert damaged.run() == (0, '["as", "usual"]\n', "went on: 0\n")
    for name in (image.name, "restore"):
        (damaged.snapshots / name).unlink()
        assert damaged.run() == (0, '["as", "usual"]\n', "went on: 0\n")


def test_damaged_guards_lead_to_a_usual_start(damaged: Slim) -> None:
    path = damaged.snapshots / "guards"
    whole = path.read_bytes()

    @settings(
        max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=20), st.booleans())
    def damage(at: int, by: bytes, is_cut: bool) -> None:
        path.write_bytes(whole[:at] + by + (b"" if is_cut else whole[at + len(by) :]))
        assert damaged.run()[:2] == (0, '["as", "usual"]\n')

    damage()


def test_names_in_folders_are_compared_as_they_were_counted(damaged: Slim, tmp_path: Path) -> None:
    """The digest by C equals the one by Python."""
    path = damaged.snapshots / "guards"
    [image] = damaged.snapshots.glob("image-*")
    names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=9)
    endings = st.sampled_from(["", ".py", ".so", ".txt", "-info", ".pyc"])

    @settings(max_examples=10, deadline=None)
    @given(st.sets(st.tuples(names, endings), max_size=20))
    def compare(parts: set[tuple[str, str]]) -> None:
        folder = tmp_path / str(time.monotonic_ns())
        folder.mkdir()
        for name, ending in parts:
            if name + ending not in ("", ".", ".."):
                (folder / (name + ending)).touch()
        lines = [f"={image.name}", f"g{digest_of_names(str(folder), is_whole=False)} {folder}"]
        lines += [f"G{digest_of_names(str(folder), is_whole=True)} {folder}", "."]
        path.write_bytes(b"".join(os.fsencode(line) + b"\0" for line in lines))
        assert damaged.run()[2] == "went on: 1\n"
        (folder / "one more").touch()
        assert damaged.run()[2] == "went on: 0\n"

    compare()
