"""What was removed of an environment is there for a program that asks for it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from returning import REMOVED, TEXT, make_original, make_slim, missed, python, run

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, FILE_INDEX, Source
from trimtab.native import native_path

LOOK = """
import os, stat
for folder, folders, files in os.walk("."):
    folders[:] = sorted(name for name in folders if name != "trimtab")
    for name in sorted(folders + files):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        rest = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
        if stat.S_ISREG(status.st_mode):
            rest = open(path, "rb").read(), status.st_nlink
        print(path, oct(status.st_mode), status.st_uid, status.st_gid, rest)
        if not stat.S_ISDIR(status.st_mode): print(status.st_mtime_ns)
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("original") / "env")


@pytest.fixture
def slim(original: Path, tmp_path: Path) -> Path:
    return make_slim(original, tmp_path / "slim")


def sources(tmp_path: Path) -> Iterator[Source]:
    yield Source(Fallback.ORIGINAL)
    yield Source(Fallback.PACKED)
    yield Source(Fallback.STORE, tmp_path / "store")


@pytest.mark.parametrize("which", range(3))
def test_all_of_it_is_as_in_the_original(original: Path, tmp_path: Path, which: int) -> None:
    """What a program sees that lists and reads everything, and what is there after it."""
    slim = make_slim(original, tmp_path / "slim", source=list(sources(tmp_path))[which])
    if which == 1:  # it searches for calls, as with another C library
        shutil.copy(native_path(FILE_FALLBACK_LIBRARY.name), slim / FILE_FALLBACK_LIBRARY)
    expected = subprocess.run(
        [sys.executable, "-I", "-c", LOOK], cwd=original, capture_output=True, text=True, check=True
    ).stdout
    assert python(slim, LOOK) == expected
    assert set(missed(slim)) == {path[1:] for path in REMOVED}
    shutil.rmtree(slim / "trimtab")
    (original / "trimtab").mkdir(exist_ok=True)
    assert python(original, LOOK) == expected  # a fallback without an index does nothing
    plain = [sys.executable, "-I", "-c", LOOK]
    assert subprocess.check_output(plain, cwd=slim, text=True) == expected


@pytest.mark.parametrize(
    ("code", "back"),
    [
        ("print(open('data/text.txt').read(6))", "data data/text.txt data/same"),
        ("print(os.stat('data/same').st_nlink)", "data data/text.txt data/same"),
        ("print(os.stat('data/empty').st_size)", "data"),
        ("print(os.access('old.conf', os.R_OK))", ""),
        ("print(os.readlink('data/way'))", "data data/way"),
        ("print(open('leads').read())", "data data/way data/deep data/deep/text.txt"),
        ("print(open('data/way/../text.txt').read(3))",
         "data data/way data/deep data/text.txt data/same"),
        ("os.chdir('data/deep'); print(open('text.txt').read())",
         "data data/deep data/deep/text.txt"),
        ("f = os.open('stays', 0); print(os.stat('../old.conf', dir_fd=f).st_size)", ""),
        ("print(os.path.realpath('data/way'))", "data data/way data/deep"),
        ("open('old.conf', 'a').write('more\\n'); print(open('old.conf').read())", "old.conf"),
        ("os.rename('stays/kept.txt', 'old.conf'); print(open('old.conf').read())", "old.conf"),
        ("os.truncate('old.conf', 3); print(open('old.conf').read())", "old.conf"),
        ("os.link('old.conf', 'other'); print(os.stat('old.conf').st_nlink)", "old.conf"),
        ("os.chmod('old.conf', 0o600); print(oct(os.stat('old.conf').st_mode))", "old.conf"),
        ("import ctypes; c = ctypes.CDLL(None); c.fopen.restype = ctypes.c_void_p\n"
         "print(bool(c.fopen(b'old.conf', b'r')))", "old.conf"),
        ("import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
         "print(c.syscall(21, b'old.conf', 0))", ""),
        ("import ctypes; print(ctypes.CDLL('./lib/libouter.so').outer(1))",
         "lib/libouter.so lib/libinner.so"),
        ("print(os.posix_spawn('bin/tool', ['tool'], os.environ) > 0, os.wait()[1])",
         "bin/tool lib/libinner.so lib/libouter.so"),
        ("import subprocess; print(subprocess.check_output(['bin/script']))",
         "bin/script bin/alias"),
        ("print(os.system('bin/stayed'))", "lib/libinner.so lib/libouter.so"),
        ("print(sorted(os.listdir()), sorted(e.name for e in os.scandir('stays')))", ""),
        ("print(sorted(os.listdir('lib')) * 2)", ""),
        ("try: os.mkdir('data')\nexcept OSError as e: print(e.errno)", "data"),
        ("try: os.rmdir('lib')\nexcept OSError as e: print(e.errno)", "lib/libinner.so"),
        ("try: os.open('old.conf', os.O_CREAT | os.O_EXCL)\nexcept OSError as e: print(e.errno)",
         "old.conf"),
        ("try: os.open('data/nothing', 0)\nexcept OSError as e: print(e.errno)", "data"),
        ("try: os.open('old.conf/x', 0)\nexcept OSError as e: print(e.errno)", "old.conf"),
        ("try: os.open('bin/nothing', 0)\nexcept OSError as e: print(e.errno)", ""),
        ("os.unlink('old.conf'); print(os.path.exists('old.conf'), sorted(os.listdir()))",
         "old.conf"),
        ("os.rename('lib', 'moved'); print(sorted(os.listdir('moved')), os.path.exists('lib'))",
         "lib/libinner.so lib/libouter.so"),
        ("import shutil; shutil.rmtree('data'); print(os.path.exists('data'), os.listdir('lib'))",
         "data data/deep data/deep/text.txt data/empty data/same data/text.txt data/way"),
        ("os.rename('data', 'moved')\n"
         "print(open('moved/deep/text.txt').read(), os.listdir('moved'))",
         "data data/deep data/deep/text.txt data/empty data/same data/text.txt data/way"),
        ("import mmap; print(mmap.mmap(os.open('old.conf', 0), 0, prot=1)[:])", "old.conf"),
        ("import sys; sys.stdout.flush(); os.execve(os.open('bin/tool', os.O_PATH), ['t'], {})",
         "bin/tool lib/libinner.so lib/libouter.so"),
        ("print(open('/proc/self/root' + os.getcwd() + '/old.conf').read())", "old.conf"),
        ("f = os.open('.', os.O_PATH); print(open(f'/proc/self/fd/{f}/old.conf').read())",
         "old.conf"),
        ("f = os.open('old.conf', os.O_PATH); print(open(f'/proc/self/fd/{f}').read())",
         "old.conf"),
        ("import glob; print(sorted(glob.glob('data/d*/*.txt')))", "data data/deep data/way"),
        ("try: os.open('old.conf', os.O_DIRECTORY)\nexcept OSError as e: print(e.errno)",
         "old.conf"),
        ("try: os.open('data/way', os.O_NOFOLLOW)\nexcept OSError as e: print(e.errno)",
         "data data/way"),
    ],
)  # fmt: skip
def test_a_call_has_the_results_that_it_has_in_the_original(
    original: Path, tmp_path: Path, slim: Path, code: str, back: str
) -> None:
    code = f"import os\n{code}"
    whole = tmp_path / "whole"
    subprocess.run(["cp", "-a", original, whole], check=True)
    command = [sys.executable, "-I", "-c", code]
    expected = subprocess.check_output(command, cwd=whole, text=True).replace(", 'trimtab'", "")
    found = python(slim, code).replace("'trimtab', ", "").replace(", 'trimtab'", "")
    same = sorted(expected.replace(str(whole), str(slim)).split())
    assert sorted(found.split()) == same
    assert sorted(missed(slim)) == sorted(back.split())


def test_errors_are_those_of_the_original(slim: Path) -> None:
    code = """
import os
for path in ("data/text.txt/x", "nothing", "", "stays/kept.txt/..", "x" * 300):
    try: os.stat(path)
    except OSError as error: print(error.errno, end=" ")
"""
    assert python(slim, code).split() == ["20", "2", "2", "20", "36"]
    assert missed(slim) == ["data", "data/text.txt", "data/same"]


def test_what_a_program_removed_stays_away(slim: Path) -> None:
    python(slim, "import os; os.remove('old.conf')")
    assert python(slim, "import os; print(os.path.exists('old.conf'), os.listdir())").startswith(
        "False"
    )
    python(slim, "open('old.conf', 'x').write('new')")
    assert (slim / "old.conf").read_text() == "new"


def test_strict_ends_the_process_and_brings_nothing_back(slim: Path) -> None:
    done = run(slim, "cat", slim / "old.conf", variables={"TRIMTAB_FALLBACK": "strict"}, status=70)
    assert "old.conf was removed" in done.stderr and not done.stdout
    assert missed(slim) == ["old.conf"] and not (slim / "old.conf").exists()


def test_report_counts(slim: Path) -> None:
    run(slim, "cat", slim / "old.conf", variables={"TRIMTAB_FALLBACK": "report"})
    record = (slim / "trimtab/fallback.jsonl").read_text().splitlines()
    assert len(record) == 1 and '"files": 1' in record[0]
    assert missed(slim) == []


def test_a_shell_finds_programs_and_the_hook_is_run(slim: Path, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nwc -l < $1 >> {tmp_path}/seen\n")
    hook.chmod(0o755)
    variables = {"PATH": f"{slim}/bin:/usr/bin:/bin", "TRIMTAB_FALLBACK_HOOK": str(hook)}
    done = run(slim, "sh", "-c", "tool && cat < old.conf", variables=variables, cwd=slim)
    assert done.stdout == "tool 42\nvalue=1\n"
    run(slim, "cat", slim / "data/empty", variables=variables)
    assert (tmp_path / "seen").read_text().split()


def test_many_processes_and_threads_at_once(slim: Path) -> None:
    code = f"""
import os, threading
from concurrent.futures import ThreadPoolExecutor
paths = ["data/text.txt", "data/deep/text.txt", "data/same", "lib/libouter.so", "old.conf"] * 4
children = []
for _ in range(20):
    if (child := os.fork()) == 0:
        with ThreadPoolExecutor(4) as pool:
            sizes = list(pool.map(lambda path: len(open(path, "rb").read()), paths))
        os._exit(sizes[0] != {len(TEXT)} or sizes[1] != 5)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""
    assert python(slim, code) == f"{[0] * 20}\n"
    assert sorted(missed(slim)) == sorted(
        ["data", "data/deep", "data/deep/text.txt", "data/same", "data/text.txt", "old.conf",
         "lib/libouter.so"]
    )  # fmt: skip
    assert not list((slim / "trimtab").glob(".partial*"))
    assert (slim / "data/same").samefile(slim / "data/text.txt")


def test_signal_handlers_and_a_full_table_of_files(slim: Path) -> None:
    code = """
import os, resource, signal
found = []
signal.signal(signal.SIGALRM, lambda *_: found.append(os.path.getsize("data/deep/text.txt")))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for path in ("data/text.txt", "data/same", "lib/libouter.so"): os.stat(path)
while len(found) < 5: pass
signal.setitimer(signal.ITIMER_REAL, 0)
count = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (count, 4096))
try:
    while True: os.open("/dev/null", 0)
except OSError: pass
print(os.stat("old.conf").st_size, set(found))
"""
    assert python(slim, code) == "8 {5}\n"


def test_nothing_comes_back_for_who_does_not_see_the_environment(slim: Path) -> None:
    if os.geteuid():
        pytest.skip("chroot(2) is root's")
    code = f"""
import os
os.chroot("{slim}/stays"); os.chdir("/")
print(os.path.exists("/old.conf"), os.path.exists("{slim}/old.conf"))
"""
    assert python(slim, code) == "False False\n"
    assert missed(slim) == []


@pytest.mark.parametrize("damage", ["cut", "magic", "tables", "records", "location", "empty"])
def test_a_damaged_index_is_refused(slim: Path, damage: str) -> None:
    index = slim / FILE_INDEX
    data = bytearray(index.read_bytes())
    if damage == "cut":
        del data[-100:]
    elif damage == "magic":
        data[0] ^= 1
    elif damage == "tables":
        data[4096 + 3] ^= 1
    elif damage == "records":
        data[-1] ^= 1
    elif damage == "location":
        data[4095] ^= 1
    else:
        data.clear()
    index.write_bytes(data)
    done = run(slim, "cat", slim / "old.conf", status=70)
    assert not done.stdout and "files.index: damaged" in done.stderr


@pytest.mark.parametrize("damage", ["wrong", "cut", "gone", "header", "pipe"])
@pytest.mark.parametrize("kind", [Fallback.ORIGINAL, Fallback.PACKED])
def test_other_contents_are_never_taken(
    original: Path, tmp_path: Path, damage: str, kind: Fallback
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(original, whole, symlinks=True)
    slim = make_slim(whole, tmp_path / "slim", source=Source(kind))
    places = [whole / "data/text.txt"]
    if kind == Fallback.PACKED:
        places = [path for path in (slim / "trimtab/store").rglob("*") if path.is_file()]
    for place in places:
        data = bytearray(place.read_bytes())
        data[0 if damage == "header" else len(data) - 10] ^= 1
        if damage in ("gone", "pipe"):
            place.unlink()
            if damage == "pipe":
                os.mkfifo(place)
        else:
            place.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    done = run(slim, "cat", slim / "data/text.txt", status=70)
    assert not done.stdout and "changed, is gone or cannot be reached" in done.stderr
    assert not (slim / "data/text.txt").exists()
    assert not list((slim / "trimtab").glob(".partial*"))
