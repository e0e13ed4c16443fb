"""A process that goes on from a snapshot is the one that a usual start makes."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from saved_starts import FAILED, Slim

from trimtab.debloating.snapshots.changes import changes
from trimtab.native import native_path

# What a process uses after it went on: each line prints.
AFTER = """
import asyncio, atexit, concurrent.futures, faulthandler, json, multiprocessing, resource
import signal, ssl, sqlite3, threading, weakref
if __name__ == "__main__":
    atexit.register(print, "at exit")
signal.signal(signal.SIGUSR1, lambda *_: print("a signal"))
faulthandler.enable()
import decimal
def square(x):
    return x * x
class Nested:
    def __init__(self, depth):
        self.below = Nested(depth - 1) if depth else None
async def child():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    return await process.communicate()
if __name__ == "__main__":
    os.kill(os.getpid(), signal.SIGUSR1)
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("interrupted")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(square, range(100))))
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        print(list(pool.map(square, range(3))))
    for way in ("spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(way, pool.map(square, range(3)))
    print(asyncio.run(child()))
    sys.stdout.flush()
    forked = os.fork()
    if not forked:
        os._exit(3)
    print(os.waitpid(forked, 0)[1])
    blocks = [bytes(10**6) for _ in range(200)], [str(number) for number in range(200_000)]
    print(len(blocks[0]), len(blocks[1]), sum(bytearray(10**8)))
    resource.setrlimit(resource.RLIMIT_STACK, (100 << 20, resource.RLIM_INFINITY))
    sys.setrecursionlimit(10**6)
    print(len(repr(Nested(30_000))) > 0)
    kept = Nested(0)
    weakref.finalize(kept, print, "finalized")
    print(threading.main_thread().native_id == os.getpid())
    print(sqlite3.connect(":memory:").execute("select 1 + 1").fetchall())
    print(sys.flags, sys.path, sys.argv, getattr(sys, "orig_argv", 0), sys.dont_write_bytecode)
    print([name for name in sys.modules if "trimtab_snapshot" in name], json.loads("[1]"))
    print(open("/proc/self/cmdline").read(), open("/proc/self/comm").read())
    print([str(signal.getsignal(each))[:20] for each in sorted(signal.valid_signals())])
    import package
    print(package.VALUE)
"""


def test_all_that_a_process_does_later(slim: Slim) -> None:
    slim.write(AFTER)
    slim.save()
    output = slim.both("program.py", "an", "argument")
    assert "interrupted" in output and "at exit" in output and "'an', 'argument'" in output


def test_other_arguments_go_on_from_before_they_were_read(slim: Slim) -> None:
    """With these arguments, the process goes on after what it imported for them."""
    slim.write("import json\nif 'much' in sys.argv:\n    import decimal\nprint(sys.argv)\n")
    slim.save("program.py", "much")
    assert len(list(slim.snapshots.glob("image*"))) == 2
    assert "much" in slim.both("program.py", "much")
    assert "little" in slim.both("program.py", "little")


def test_what_is_there_is_no_work_for_the_collector(slim: Slim) -> None:
    slim.write("import json, gc\nprint(gc.get_freeze_count() > 1000, gc.isenabled())\n")
    slim.save()
    assert slim.run()[1:] == ("True True\n", "went on: 1\n")


def test_a_folder_that_is_made_where_one_is(slim: Slim, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    slim.write(f"os.makedirs({str(folder)!r}, exist_ok=True)\nimport json\n")
    slim.save()
    slim.both()
    folder.rmdir()
    assert slim.run()[2] == "went on: 0\n"
    assert folder.is_dir()


def test_wsgiref_has_the_new_variables(slim: Slim) -> None:
    slim.write("import wsgiref.handlers\nprint(wsgiref.handlers.BaseHandler.os_environ['NAME'])\n")
    slim.save(variables={"NAME": "before"})
    assert slim.both(variables={"NAME": "now"}) == "now\n"


def test_a_crash_is_reported(slim: Slim) -> None:
    slim.write("import faulthandler, json\nfaulthandler.enable()\nimport decimal\n")
    with (slim.folder / "program.py").open("a") as program:
        program.write("sys.stderr.flush()\nfaulthandler._sigsegv()\n")
    slim.save()
    code, _, errors = slim.run()
    assert code == -signal.SIGSEGV
    assert "went on: 1" in errors and "Fatal Python error: Segmentation fault" in errors


STREAMS = """
import io
sys.stdout.reconfigure(errors="replace")
wrapped = io.TextIOWrapper(sys.stdout.buffer, "latin-1", line_buffering=True)
import json
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream, stream.buffer, stream.line_buffering, stream.write_through, stream.isatty())
print(sys.stdin.fileno(), sys.stdin.mode, repr(sys.stdin.read() if not sys.stdin.isatty() else 0))
print("\\xe9", file=wrapped)
"""


@pytest.mark.parametrize("words", [("program.py",), ("-u", "program.py")], ids=["buffered", "-u"])
def test_streams_are_the_new_process_s(slim: Slim, tmp_path: Path, words: tuple[str, ...]) -> None:
    """A pipe with text, a file, and a terminal."""
    slim.write(STREAMS.replace("wrapped)", "wrapped)" if words[0] != "-u" else "sys.stdout)"))
    slim.save(*words)
    assert r"a\r\nb\rc" in slim.both(*words, input=b"a\r\nb\rc")
    for name in ("went", "usual"):
        variables = FAILED if name == "usual" else {}
        with (slim.folder / "program.py").open("rb") as given, (tmp_path / name).open("wb") as got:
            subprocess.run(
                [slim.python, *words], cwd=slim.folder, stdin=given, stdout=got, timeout=60,
                env={"LANG": "C.UTF-8", **variables}, check=True, stderr=subprocess.PIPE,
            )  # fmt: skip
    assert (tmp_path / "went").read_bytes() == (tmp_path / "usual").read_bytes()
    assert on_terminal(slim, words, {}) == on_terminal(slim, words, FAILED)


def on_terminal(slim: Slim, words: tuple[str, ...], variables: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [slim.python, *words], cwd=slim.folder, stdin=theirs, stdout=theirs, stderr=theirs,
        timeout=60, env={"LANG": "C.UTF-8", **variables}, check=True,
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 4096)
        except OSError:  # its end
            break
    os.close(ours)
    assert done.returncode == 0 and b"True" in text
    return text.decode("latin-1").replace("went on: 1", "went on: 0")


@pytest.mark.parametrize(
    "words", [("-m", "program"), ("-W", "error", "-X", "dev", "-E", "program.py")], ids=" ".join
)
def test_options_of_python(slim: Slim, words: tuple[str, ...]) -> None:
    slim.write("import json\nprint(sys.argv, __name__, sys.warnoptions, sys._xoptions, sys.path)\n")
    slim.save(*words)
    slim.both(*words, "an", "argument")


def test_code_of_the_command_and_a_script_with_an_interpreter(slim: Slim) -> None:
    slim.write("import json\nprint(sys.argv, sys.executable, open('/proc/self/comm').read())\n")
    code = (slim.folder / "program.py").read_text()
    slim.save("-c", code)
    slim.both("-c", code, "an argument")
    script = slim.folder / "script"
    script.write_text(f"#!{slim.python}\n{code}")
    script.chmod(0o755)
    slim.save("./script")
    slim.both("./script", "an argument")
    usual = subprocess.run(["./script"], cwd=slim.folder, capture_output=True, text=True)
    assert usual.stdout.endswith("script\n\n")  # another name of the process: it starts as usual
    assert usual.stderr == "went on: 0\n"


def test_variables_are_the_new_process_s(slim: Slim) -> None:
    """Those of Python and of C, also those that the start itself changed."""
    slim.write("""
os.environ["SET"] = "by the start"
os.environ.pop("GONE", None)
os.putenv("PUT", "for children")
import json
print(os.environ["SET"], os.environ.get("GONE"), os.environ.get("OTHER"), flush=True)
os.system("echo $SET-$GONE-$PUT-$OTHER")
""")
    slim.save()
    slim.both()
    assert "with = signs" in slim.both(variables={"OTHER": "with = signs"})
    assert "went on: 0" in slim.run(variables={"GONE": "1"})[2]


COMPARED = """
os.environ.get("ASKED")
import package
import json
import own
print(sys.argv, os.environ.get("ASKED"), own.NAME, package.VALUE)
"""


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])


@pytest.mark.parametrize(
    "variable", ["ASKED=", "LC_ALL=C", "TZ=UTC", "PYTHONOPTIMIZE=1", "OMP_NUM_THREADS=1"]
)
def test_a_variable_that_is_asked_for_is_compared(slim: Slim, variable: str) -> None:
    slim.write(COMPARED, own="NAME = 'own'\n")
    slim.save()
    name, _, value = variable.partition("=")
    assert "went on: 1" in slim.run(variables={"OTHER": "1"})[2]
    assert "went on: 0" in slim.run(variables={name: value})[2]


@pytest.mark.parametrize("before", [ignore_interrupts, block_signals, lambda: os.close(0)])
def test_a_process_that_is_set_up_in_another_way_starts_as_usual(
    slim: Slim, before: Callable[[], None]
) -> None:
    slim.write(COMPARED, own="NAME = 'own'\n")
    slim.save()
    assert "went on: 1" in slim.run()[2]
    code, output, errors = slim.run(before=before)
    assert (code, errors) == (0, "went on: 0\n")
    assert output.endswith("own a package\n")


@contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    before = path.read_text() if path.exists() else None
    path.write_text(text)
    try:
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before)


def test_what_was_edited_or_added_is_used(slim: Slim) -> None:
    slim.write(COMPARED, own="NAME = 'own'\n")
    folder, packages = slim.folder, slim.packages
    program = (folder / "program.py").read_text()
    for path, text, output in (
        (folder / "program.py", program.replace("own.NAME", "'edited'"), "edited a package"),
        (folder / "own.py", "NAME = 'edited'\n", "edited a package"),
        (folder / "json.py", "print('beside')\n", "beside"),
        (packages / "package/__init__.py", "VALUE = 'edited'\n", "own edited"),
        (packages / "more.pth", "import package; package.VALUE = 'set'\n", "own set"),
    ):
        slim.save()
        assert changes(slim.environment) == []
        with changed(path, text):
            _, found, errors = slim.run(variables={"PYTHONDONTWRITEBYTECODE": ""})
            assert output in found and "went on: 0" in errors
            [change] = changes(slim.environment)
            assert str(path) in change or str(path.parent) in change
    with changed(folder / "unrelated.txt", ""):
        slim.save()
    assert "went on: 1" in slim.run()[2]
    assert changes(slim.environment) == []


def test_other_folders_and_names_start_as_usual(slim: Slim, tmp_path: Path) -> None:
    slim.write("here = os.getcwd()\nimport json\nprint(here)\n")
    program = str(slim.folder / "program.py")
    slim.save(program)
    slim.both(program)
    assert slim.run(program, cwd=tmp_path)[1:] == (f"{tmp_path}\n", "went on: 0\n")
    moved = tmp_path / "moved"
    slim.environment.rename(moved)
    try:
        command = [moved / "bin/python", program]
        done = subprocess.run(command, cwd=slim.folder, capture_output=True, text=True, timeout=60)
        assert done.stderr == "went on: 0\n"
    finally:
        moved.rename(slim.environment)


def test_a_removed_module_comes_back_and_is_recorded(slim: Slim) -> None:
    slim.write("import json\nsys.stdout.isatty()\nprint(1)\nimport removed\nprint(removed.NAME)\n")
    slim.save()
    record = slim.environment / "trimtab/fallback.jsonl"
    before = record.read_text() if record.exists() else ""
    assert slim.run()[1:] == ("1\nit came back\n", "went on: 1\n")
    lines = map(json.loads, record.read_text()[len(before) :].splitlines())
    assert next(line["file"] for line in lines if "file" in line).endswith("removed.py")


def test_several_processes_at_once(slim: Slim) -> None:
    slim.write("import json\nprint(sum(range(10**6)), sys.argv[1])\n")
    slim.save()
    started = [
        subprocess.Popen(
            [slim.python, "program.py", str(number)], cwd=slim.folder, text=True,
            env={"LANG": "C.UTF-8"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]  # fmt: skip
    for number, process in enumerate(started):
        assert process.communicate(timeout=60)[0] == f"499999500000 {number}\n"


def test_many_starts_go_on(slim: Slim) -> None:
    """The kernel chooses other places for each process's stack."""
    slim.write("import json\n")
    slim.save()
    errors = [slim.run()[2] for _ in range(40)]
    assert errors == ["went on: 1\n"] * 40


def test_limits_of_the_stack(slim: Slim) -> None:
    slim.write("import json\nprint(len(json.loads('[' * 900 + ']' * 900)))\n")
    slim.save()
    for kib in ("256", "65536", "unlimited"):
        command = ("sh", "-c", f'ulimit -s {kib}; exec "$@"', "sh")
        code, output, errors = slim.run(command=command)
        assert (code, output) == (0, "1\n")
        assert kib == "unlimited" or errors == "went on: 1\n"


def test_files_that_the_parent_left_open_stay(slim: Slim) -> None:
    slim.write("import json\nprint(sorted(os.listdir('/proc/self/fd')))\n")
    slim.save()
    given = os.open(os.devnull, os.O_RDONLY)
    assert repr(str(given)) in slim.both(pass_fds=[given])
    os.close(given)


def test_time_and_chance_are_new(slim: Slim) -> None:
    """Also of modules that a library imports by name."""
    slim.write(
        """
import logging, multiprocessing, random, ssl, tempfile
random.seed(42)
unseeded, seeded = random.Random(), random.Random(1)
import json, importlib
by_name = importlib.import_module("by_name")
key = multiprocessing.current_process().authkey
sys.stderr.write(f"{random.random()} {seeded.random()}\\n")
print(unseeded.random(), ssl.RAND_bytes(8), tempfile.mktemp(), key, by_name.NOW, sep="\\n")
""",
        by_name="import datetime\nNOW = datetime.datetime.now()\nimport fractions\n",
    )
    slim.save()
    runs = [slim.run() for _ in range(2)]
    assert runs[0][2] == runs[1][2] == "0.6394267984578837 0.13436424411240122\nwent on: 1\n"
    assert len({line for _, output, _ in runs for line in output.splitlines()}) == 10


def test_time_begins_when_a_process_goes_on(slim: Slim) -> None:
    slim.write("""
import json, logging, time
record = logging.LogRecord("", 0, "", 0, "", (), None)
print(time.time(), record.created - record.relativeCreated / 1000)
""")
    slim.save()
    before = time.time()
    assert all(before < float(each) < time.time() for each in slim.run()[1].split())


VERSIONS = """
import asyncio, concurrent.futures, decimal, logging, multiprocessing, random, ssl, sqlite3
random.seed(3)
import json
if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        print([*pool.map(abs, (-1, -2))], random.random())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(abs, (-3,)), sys.argv, sys.version)
    print(sys.stdin.read(), sys.stdin, sys.stdout)
    print(sys.stdout.line_buffering, sys.stderr.line_buffering)
"""


@pytest.mark.parametrize("minor", range(8, 14))
def test_each_python(tmp_path: Path, minor: int) -> None:
    python = python_of(minor)
    if python is None:
        pytest.skip(f"python3.{minor} is not here; `pyenv install 3.{minor}`")
    slim = Slim(tmp_path, python)
    slim.write(VERSIONS)
    slim.save()
    assert f" 'an argument'] 3.{minor}." in slim.both("program.py", "an argument", input=b"text")


def python_of(minor: int) -> str | None:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*versions.glob(f"3.{minor}.*/bin/python3.{minor}")]
    return os.fspath(found[0]) if found else shutil.which(f"python3.{minor}")


def test_a_shell_that_starts_the_program_may_load_the_library() -> None:
    """Scripts of a folder with a space in its name start through one."""
    variables = {"LD_PRELOAD": str(native_path("libtrimtab-snapshot.so"))}
    done = subprocess.run(["/bin/sh", "-c", "echo $0"], env=variables, capture_output=True)
    assert (done.stdout, done.stderr) == (b"/bin/sh\n", b"")
