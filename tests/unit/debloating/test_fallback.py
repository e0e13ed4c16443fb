"""Calls into removed code of a slim library, in Python and other programs, in all behaviours."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import Mode, rewrite
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import add_fallback
from trimtab.debloating.span_document import document_of
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.errors import UserError
from trimtab.records.library_spans import spans_file
from trimtab.records.manifest import DebloatedFile, Environment, Manifest, Timings
from trimtab.records.removed_calls import RemovedCall, read_removed_calls

# `far` leaves the file with its pages; `near` lies on a page that stays, beside `used`; each of
# the others begins a page of its own.
C_SOURCE = r"""
#include <stddef.h>
#define FAR __attribute__((noinline, aligned(4096)))
FAR int used(int x) { return x * 3 + 1; }
int near(int x) { return x - 5; }
FAR int far(int x) { __asm__ volatile(".fill 65536, 1, 0x90"); return x + near(x); }
FAR int trap(int x) { __asm__ volatile("int3"); return x; }
FAR int crash(int x) { return *(volatile int *)(ptrdiff_t)x; }
static __attribute__((noinline)) int nameless(int x) { return x ^ 1; }
FAR int outer(int x) { return nameless(x) + 1; }
""" + "\n".join(f"FAR int work_{i}(int x) {{ return x * {i + 2} + {i}; }}" for i in range(60))
CXX_SOURCE = r"""
#include <stdexcept>
#include <string>
#define FAR __attribute__((noinline, aligned(4096)))
struct Counted { static int alive; Counted() { alive++; } ~Counted() { alive--; } };
int Counted::alive = 0;
namespace deep { FAR int thrown(int x) {
  Counted counted;
  if (x > 3) throw std::runtime_error("too large: " + std::to_string(x));
  return x;
} }
extern "C" FAR int used_too(int x) { return x; }
extern "C" FAR int caught(int x) {
  try { return deep::thrown(x); }
  catch (const std::exception &error) {
    return -(int)std::string(error.what()).size() - Counted::alive;
  }
}
"""
PRELUDE = """
import ctypes, os, signal, sys, threading
mine = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libmine.so"))
"""


def manifest_of(mode: str, names: list[str]) -> Manifest:
    return Manifest(
        target="t", hardware="h", workloads=["w"], mode=mode, symbols="strip",
        environment=Environment("python_prefix", "/"), timings=Timings(0, 0, 0),
        files={name: DebloatedFile("", "", 0, 0) for name in names},
    )  # fmt: skip


def compile_library(path: Path, source: str) -> Path:
    language = "c++" if "throw" in source else "c"
    command = ["g++", "-x", language, "-", "-O1", "-g", "-shared", "-fPIC", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    return path


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The original environment's libraries."""
    prefix = tmp_path_factory.mktemp("original")
    (prefix / "lib").mkdir()
    compile_library(prefix / "lib/libmine.so", C_SOURCE)
    compile_library(prefix / "lib/libthrows.so", CXX_SOURCE)
    return prefix


@pytest.fixture(scope="module")
def build(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a slim environment around this interpreter, with a fallback."""

    def make(
        mode: Mode = "compact", source: Fallback = Fallback.ORIGINAL, origin: Path = prefix
    ) -> Path:
        folder = tmp_path_factory.mktemp("slim")
        environment = folder / "env"
        (environment / f"lib/python3.{sys.version_info.minor}/site-packages").mkdir(parents=True)
        (environment / "bin").mkdir()
        (environment / "bin/python").symlink_to(
            Path(sys.base_prefix, f"bin/python3.{sys.version_info.minor}")
        )
        (environment / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
        for path in (origin / "lib").iterdir():
            elf = read_elf(path)
            functions, names = read_functions(elf), function_names(elf)
            kept = [(names.of(at) or "").startswith("used") for at in functions.start.tolist()]
            spans = locate(elf, functions, np.array(kept), keep_symbols=False)
            rewrite(elf, spans, mode, environment / "lib" / path.name, 4096)
            name = f"lib/{path.name}"
            document_of(path, name, spans).write(spans_file(folder / "spans", name))
        names = [f"lib/{path.name}" for path in (origin / "lib").iterdir()]
        add_fallback(environment, origin, manifest_of(mode, names), folder / "spans", source)
        PythonPrefix(origin).adapt(environment, environment)
        return environment

    return make


@pytest.fixture(scope="module")
def slim(build: Callable[..., Path]) -> Path:
    return build()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def run(
    environment: Path, record: Path, program: str, behaviour: str = "", *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin/python", *options, "-c", PRELUDE + program],
        env={**os.environ, "TRIMTAB_FALLBACK": behaviour, "TRIMTAB_FALLBACK_RECORD": str(record)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def called(record: Path) -> list[str]:
    return [call.name for call in read_removed_calls(record)]


def address_of(prefix: Path, name: str) -> int:
    elf = read_elf(prefix / "lib/libmine.so")
    names, starts = function_names(elf), read_functions(elf).start.tolist()
    return next(int(at) for at in starts if names.of(at) == name)


@pytest.mark.parametrize("source", [Fallback.ORIGINAL, Fallback.PACKED])
@pytest.mark.parametrize("library", ["libmine.so", "libthrows.so"])
def test_the_sidecar_holds_every_removed_byte_of_code_and_no_other(
    build: Callable[..., Path], prefix: Path, source: Fallback, library: str
) -> None:
    environment = build(source=source)
    sidecar = (environment / f"trimtab/removed/lib__{library}.removed").read_bytes()
    assert sidecar[:8] == b"TRIMTABR"
    count, size, modified = np.frombuffer(sidecar[8:32], "<u8").tolist()
    path = sidecar[32:4096].rstrip(b"\0").decode()
    original = prefix / "lib" / library
    if source == Fallback.ORIGINAL:
        status = original.stat()
        assert (path, size, modified) == (str(original), status.st_size, status.st_mtime_ns)
        assert len(sidecar) == 4096 + 16 * count  # code and names stay in the original
    where = original.read_bytes() if source == Fallback.ORIGINAL else sidecar
    elf = read_elf(original)
    functions, names = read_functions(elf), function_names(elf)
    kept = [(names.of(at) or "").startswith("used") for at in functions.start.tolist()]
    spans = locate(elf, functions, np.array(kept), keep_symbols=False)
    removed = np.repeat(spans.reason == SpanReason.UNUSED, spans.end - spans.start)
    covered = np.zeros(removed.size, int)
    rows = np.frombuffer(sidecar[4096 : 4096 + 16 * count], "<u4").reshape(-1, 4).tolist()
    assert rows == sorted(rows)
    for address, length, offset, name in rows:
        (place,) = elf.offsets_of(np.array([address])).tolist()
        covered[place : place + length] += 1
        assert where[offset : offset + length] == original.read_bytes()[place : place + length]
        text = where[name:].partition(b"\0")[0].decode() if name else ""
        assert text == (names.of(address) or "")
    assert np.array_equal(covered, removed.astype(int))
    assert removed.sum() > (65536 if library == "libmine.so" else 100)


@pytest.mark.parametrize(("function", "result"), [("far", 9), ("near", 2)])
def test_strict_raises_where_the_call_was(
    slim: Path, record: Path, function: str, result: int
) -> None:
    """`far` calls `near`, which is removed as well."""
    message = f"trimtab: {function} in libmine.so was removed: no profiled run used it"
    caught = run(slim, record, f"""
try:
    mine.{function}(7)
    print("went on")
except RuntimeError as error:
    print(error)
print(mine.used(2), mine.{function}(7))
""")  # fmt: skip
    assert caught.returncode == 0, caught.stderr
    first, second = caught.stdout.splitlines()
    assert first.startswith(message) and "TRIMTAB_FALLBACK=restore" in first
    assert ("used it, nor 1 others called since;" in first) == (function == "far")
    assert second == f"7 {result}"
    uncaught = run(slim, record, f"mine.{function}(7)\nprint('went on')", "strict")
    assert uncaught.returncode == 1 and uncaught.stdout == ""
    assert uncaught.stderr.splitlines()[-1].startswith(f"RuntimeError: {message}")
    assert {"far": ["far", "near"], "near": ["near"]}[function] == sorted(called(record))
    assert all(event.processes == 2 for event in read_removed_calls(record))


@pytest.mark.parametrize("source", [Fallback.ORIGINAL, Fallback.PACKED])
@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_restore_goes_on_and_records(
    build: Callable[..., Path], prefix: Path, record: Path, mode: Mode, source: Fallback
) -> None:
    environment = build(mode, source)
    program = "print(mine.far(7), mine.near(8), mine.used(1), mine.far(8), mine.outer(6))"
    done = run(environment, record, program, "restore")
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 3 4 11 8\n", "")
    events = read_removed_calls(record)
    assert sorted(event.name for event in events) == ["far", "nameless", "near", "outer"]
    assert {(event.library, event.processes) for event in events} == {("lib/libmine.so", 1)}
    assert all(event.address == address_of(prefix, event.name) for event in events)


def test_without_calls_into_removed_code_nothing_happens(slim: Path, record: Path) -> None:
    done = run(slim, record, "print(mine.used(5), 'ctypes' in sys.modules)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "16 True\n", "")
    assert not record.exists()


def test_report_only_counts(slim: Path, record: Path) -> None:
    done = run(slim, record, "print(mine.far(7), mine.far(7))", "report")
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 9\n", "")
    assert '"functions": 2}' in record.read_text() and len(record.read_text().splitlines()) == 1
    assert read_removed_calls(record) == []


def test_the_record_lies_in_the_environment_by_default(
    slim: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_FALLBACK", "restore")
    monkeypatch.delenv("TRIMTAB_FALLBACK_RECORD", raising=False)
    subprocess.run([slim / "bin/python", "-c", PRELUDE + "mine.near(1)"], check=True, timeout=60)
    expected = RemovedCall("lib/libmine.so", address_of(prefix, "near"), "near", 1)
    assert read_removed_calls(slim / "trimtab/fallback.jsonl") == [expected]


def test_threads_meet_the_same_removed_functions_at_once(slim: Path, record: Path) -> None:
    done = run(slim, record, """
functions = [(i, getattr(mine, f"work_{i}")) for i in range(60)]
barrier, wrong = threading.Barrier(8), []
def work():
    barrier.wait()
    for i, function in functions:
        if function(i) != i * (i + 2) + i: wrong.append(i)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
""", "restore")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    assert len(record.read_text().splitlines()) == 60
    assert set(called(record)) == {f"work_{i}" for i in range(60)}


def test_the_main_thread_raises_for_the_others(slim: Path, record: Path) -> None:
    done = run(slim, record, """
thread = threading.Thread(target=lambda: print(mine.near(7)))
try:
    thread.start()
    thread.join()
    print("went on")
except RuntimeError as error:
    print(error)
""")  # fmt: skip
    assert sorted(done.stdout.splitlines())[0] == "2"
    assert "near in libmine.so was removed" in done.stdout and "went on" not in done.stdout


def test_a_forked_child_raises_by_itself(slim: Path, record: Path) -> None:
    done = run(slim, record, """
try: mine.near(1)
except RuntimeError: pass
if not os.fork():
    try: mine.outer(1)
    except RuntimeError as error: print(error, flush=True)
    os._exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]))
""")  # fmt: skip
    message, status = done.stdout.splitlines()
    assert message.startswith("trimtab: outer in") and "nor 1 others" in message and status == "3"
    assert sorted(called(record)) == ["nameless", "near", "outer"]


def test_handlers_and_masks_of_the_program_are_no_obstacle(slim: Path, record: Path) -> None:
    done = run(slim, record, """
import faulthandler
faulthandler.enable()
signal.signal(signal.SIGTRAP, lambda number, frame: print("trapped", number))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP, signal.SIGSEGV, signal.SIGUSR1])
print(mine.far(7), mine.near(8), sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))
os.kill(os.getpid(), signal.SIGTRAP)
print(signal.getsignal(signal.SIGTRAP) is not signal.SIG_DFL)
""", "restore")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["9 3 [10]", "trapped 5", "True"]
    assert done.stderr == ""


@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
@pytest.mark.parametrize(
    ("program", "number"),
    [
        ("mine.crash(0)", signal.SIGSEGV),
        ("ctypes.string_at(0)", signal.SIGSEGV),
        ("mine.trap(0)", signal.SIGTRAP),
        ("os.kill(os.getpid(), signal.SIGSEGV)", signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGTRAP)", signal.SIGTRAP),
    ],
)
def test_other_crashes_remain_crashes(
    slim: Path, record: Path, program: str, number: int, options: list[str]
) -> None:
    """`crash` and `trap` are removed: they are put back and do then what they did."""
    done = run(slim, record, program, "restore", *options)
    assert done.returncode == -number
    assert ("Fatal Python error" in done.stderr) == (bool(options) and number == signal.SIGSEGV)


def test_exceptions_pass_through_functions_that_were_put_back(slim: Path, record: Path) -> None:
    program = """
throws = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libthrows.so"))
print(throws.caught(2), throws.caught(7))
"""
    done = run(slim, record, program, "restore")
    assert (done.returncode, done.stdout) == (0, f"2 {-len('too large: 7')}\n")
    strict = run(slim, record, "throws = ctypes.CDLL(sys.prefix + '/lib/libthrows.so')\n"
                 "throws._ZN4deep6thrownEi(1)")  # fmt: skip
    assert "RuntimeError: trimtab: deep::thrown(int) in libthrows.so was" in strict.stderr


def test_without_the_removed_code_the_message_says_so(
    build: Callable[..., Path], record: Path
) -> None:
    environment = build()
    folder = environment / "trimtab/removed"
    folder.rename(environment / "elsewhere")
    for function in ("far", "near"):
        done = run(environment, record, f"mine.{function}(1)", "restore")
        assert done.returncode == 70
        assert re.match(r"trimtab: lib/libmine.so at 0x[0-9a-f]+ was called", done.stderr)
        assert str(folder) in done.stderr
    assert run(environment, record, "ctypes.string_at(0)").returncode == -signal.SIGSEGV
    assert run(environment, record, "print(mine.used(1))").stdout == "4\n"


@pytest.mark.parametrize("damage", ["original", "header", "short", "row", "name"])
def test_a_changed_original_or_a_damaged_sidecar_stops_with_a_message(
    build: Callable[..., Path], prefix: Path, tmp_path: Path, record: Path, damage: str
) -> None:
    origin = tmp_path / "origin"
    (origin / "lib").mkdir(parents=True)
    (origin / "lib/libmine.so").write_bytes((prefix / "lib/libmine.so").read_bytes())
    environment = build(origin=origin)
    sidecar = environment / "trimtab/removed/lib__libmine.so.removed"
    data = bytearray(sidecar.read_bytes())
    if damage == "original":
        (origin / "lib/libmine.so").write_bytes(b"\x90" * 100_000)
    elif damage == "header":
        data[8:16] = b"\xff" * 8
    elif damage == "short":
        del data[1000:]
    else:
        column = {"row": 8, "name": 12}[damage]
        for row in range(4096 + column, len(data), 16):
            data[row : row + 4] = b"\xff" * 4
    sidecar.write_bytes(data)
    done = run(environment, record, "mine.near(1)", "restore")
    assert done.returncode == 70, done
    assert ("was changed or is gone" if damage == "original" else "damaged") in done.stderr


def test_programs_without_python_end_with_a_message(
    slim: Path, prefix: Path, tmp_path: Path, record: Path
) -> None:
    source = (
        "#include <stdio.h>\nint far(int), used(int);\n"
        'int main(void) { printf("%d\\n", used(1)); fflush(stdout); printf("%d\\n", far(7)); }\n'
    )
    program = tmp_path / "program"
    subprocess.run(
        ["gcc", "-x", "c", "-", "-o", program, f"-L{prefix}/lib", "-lmine"],
        input=source, text=True, check=True,
    )  # fmt: skip
    environment = {
        "LD_LIBRARY_PATH": str(slim / "lib"),
        "LD_PRELOAD": str(slim / "trimtab/libtrimtab-fallback.so"),
        "TRIMTAB_FALLBACK_RECORD": str(record),
    }
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (70, "4\n")
    assert done.stderr.startswith("trimtab: far in libmine.so was removed: no profiled run used it")
    environment["TRIMTAB_FALLBACK"] = "restore"
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n9\n", "")


def test_an_unknown_behaviour_is_named_and_strict(slim: Path, record: Path) -> None:
    done = run(slim, record, "mine.near(1)", "lenient")
    assert done.returncode == 1
    assert "TRIMTAB_FALLBACK=lenient: expected strict, restore or report" in done.stderr


def test_what_cannot_fall_back_is_refused(
    build: Callable[..., Path], prefix: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="mode punch leaves zeros"):
        build("punch")
    add_fallback(tmp_path, prefix, manifest_of("compact", []), tmp_path, Fallback.ORIGINAL)
    (tmp_path / "bin").mkdir()
    with pytest.raises(UserError, match="no lib/python3"):
        PythonPrefix(prefix).adapt(tmp_path, tmp_path)
    elf = read_elf(prefix / "lib/libmine.so")
    other = Spans(np.array([elf.size_bytes]), np.array([SpanReason.UNUSED], np.uint8), "another")
    name = "lib/libmine.so"
    document_of(prefix / name, name, other).write(spans_file(tmp_path, name))
    with pytest.raises(UserError, match="not the library that was debloated"):
        add_fallback(tmp_path, prefix, manifest_of("compact", [name]), tmp_path, Fallback.ORIGINAL)
