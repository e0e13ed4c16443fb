"""What stands for a removed file that a program only looks at."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from returning import make_original, make_slim, missed, python, run

LOOKING = """
import json, os, subprocess
def status(path):
    found = os.stat(path)
    return [found.st_mode, found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns,
            found.st_nlink, os.access(path, os.R_OK), os.access(path, os.X_OK),
            os.path.isfile(path), os.path.islink(path), os.listxattr(path)]
print(json.dumps([status(path) for path in ("old.conf", "bin/tool", "data/deep/text.txt")]))
print(subprocess.check_output(["stat", "-c", "%A %s %u %g %Y %h %F", "old.conf", "bin/tool"]))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("stand_ins") / "original")


@pytest.fixture
def slim(original: Path, tmp_path: Path) -> Path:
    return make_slim(original, tmp_path / "slim")


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may read; pytest's own are root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def seen_in(folder: Path) -> str:
    return subprocess.check_output(["python3", "-c", LOOKING], cwd=folder, text=True)


@pytest.mark.parametrize("behaviour", ["restore", "strict"])
def test_who_looks_sees_the_original_and_misses_nothing(
    original: Path, slim: Path, behaviour: str
) -> None:
    variables = {"TRIMTAB_FALLBACK": behaviour}
    run(slim, "ls", slim / "data", variables={})  # folders come back, as nobody can list a stand-in
    python(slim, "import os; os.stat('data/deep')")
    folders = missed(slim)
    assert python(slim, LOOKING, variables=variables) == seen_in(original)
    assert missed(slim) == folders and not (slim / "old.conf").exists()


def test_it_becomes_the_file(slim: Path, original: Path) -> None:
    code = """
import os
before = os.stat("old.conf")
with open("old.conf") as file:
    after = os.fstat(file.fileno())
    print(before.st_ino == after.st_ino, before.st_dev == after.st_dev, file.read())
print(os.stat("old.conf").st_mtime_ns == before.st_mtime_ns)
"""
    assert python(slim, code) == "True True value=1\n\nTrue\n"
    assert not list((slim / "trimtab/stand-ins").iterdir())
    assert (slim / "old.conf").stat().st_mode == (original / "old.conf").stat().st_mode


@pytest.mark.parametrize("time_ns", [0, 10**18])
def test_one_that_was_not_made_to_its_end_is_nothing_yet(
    original: Path, slim: Path, time_ns: int
) -> None:
    """Who made it died: the next one makes it whole."""
    python(slim, "import os; os.stat('old.conf')")
    [left] = (slim / "trimtab/stand-ins").iterdir()
    number = left.stat().st_ino
    os.truncate(left, 0)
    left.chmod(0)
    os.utime(left, ns=(time_ns, time_ns))
    code = (
        "import os; found = os.stat('old.conf');"
        " print(found.st_size, found.st_mode, found.st_mtime_ns)"
    )
    expected = (original / "old.conf").stat()
    assert python(slim, code).split() == [
        str(value) for value in (expected.st_size, expected.st_mode, expected.st_mtime_ns)
    ]
    assert left.stat().st_ino == number  # it may have been looked at


def test_many_threads_look_and_read_at_once(slim: Path) -> None:
    code = """
import os, threading
paths = ["old.conf", "data/text.txt", "data/deep/text.txt", "bin/tool"]
found = []
def look(number):
    for turn in range(8):
        path = paths[(number + turn) % 4]
        size = os.stat(path).st_size
        found.append(size == (len(open(path, "rb").read()) if turn > 3 else size) and size > 0)
threads = [threading.Thread(target=look, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), all(found))
"""
    assert python(slim, code) == "128 True\n"


def test_cp_copies_what_it_looked_at_before(slim: Path, tmp_path: Path) -> None:
    run(slim, "cp", "-a", slim / "old.conf", slim / "data/text.txt", tmp_path)
    assert (tmp_path / "old.conf").read_text() == "value=1\n"
    assert (tmp_path / "text.txt").stat().st_size == (slim / "data/text.txt").stat().st_size


def test_a_file_that_a_program_removed_is_not_seen_again(slim: Path) -> None:
    code = (
        "import os; os.stat('old.conf'); os.remove('old.conf'); print(os.path.exists('old.conf'))"
    )
    assert python(slim, code) == "False\n"
    assert python(slim, "import os; print(os.path.exists('old.conf'))") == "False\n"


def test_many_look_while_it_comes_back(slim: Path) -> None:
    code = """
import os
children = []
for number in range(12):
    if (child := os.fork()) == 0:
        try:
            for _ in range(50):
                assert os.stat("old.conf").st_size == 8
                if number == 7: assert open("old.conf").read() == "value=1\\n"
                assert os.stat("data/deep/text.txt").st_size == 5
                if number == 9: assert open("data/deep/text.txt").read() == "deep\\n"
            os._exit(0)
        finally:
            os._exit(1)
    children.append(child)
print({os.waitpid(child, 0)[1] for child in children})
"""
    assert python(slim, code) == "{0}\n"
    assert sorted(missed(slim)) == ["data", "data/deep", "data/deep/text.txt", "old.conf"]
    assert not list((slim / "trimtab").glob(".partial*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("cache", ["a folder", "none"])
def test_another_user_sees_it_where_nothing_may_be_written(
    original: Path, public: Path, cache: str
) -> None:
    slim, place = make_slim(original, public / "slim"), public / "cache"
    if cache == "a folder":
        place.mkdir(mode=0o700)
        os.chown(place, 65534, 65534)
    code = """
import os
os.chdir("{top}"); os.setgid(65534); os.setuid(65534)
found = os.stat("old.conf")
print(found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, os.access("old.conf", os.R_OK),
      os.access("old.conf", os.W_OK), os.path.isfile("bin/tool"), os.access("bin/tool", os.X_OK))
try: os.readlink("old.conf")
except OSError as error: print(error.errno, os.listxattr("old.conf"))
"""
    variables = {"TRIMTAB_STORE_CACHE": str(place if cache == "a folder" else "/proc/nothing")}
    expected = subprocess.check_output(["python3", "-c", code.format(top=original)], text=True)
    if cache == "a folder":  # what a user makes is that user's
        expected = expected.replace("33188 0 ", "33188 65534 ")
    assert python(slim, code.format(top=slim), variables=variables) == expected
    assert missed(slim) == []
    status = run(
        slim, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
        "stat", "-c", "%A %s %u %Y %d %F", slim / "old.conf", variables=variables,
    ).stdout  # fmt: skip
    of_original = ["stat", "-c", "%A %s %u %Y", original / "old.conf"]
    if cache == "none":
        assert status.split()[:4] == subprocess.check_output(of_original, text=True).split()
        assert status.split()[4] == str(slim.stat().st_dev)
