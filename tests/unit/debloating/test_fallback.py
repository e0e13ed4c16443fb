"""Calls into removed code of a slim library, in Python and other programs, in all behaviours."""

import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from slim_example import PRELUDE, called, compile_library, manifest_of, run

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.loading import read_loading
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import Mode
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.binaries.rewriting.whole_pages import whole_pages
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import IDENTITY_FILE, Source, add_fallback
from trimtab.debloating.files.folder_tree import prefix_tree
from trimtab.debloating.original_identity import identity_bytes, identity_of
from trimtab.debloating.removed_pages import removed_pages
from trimtab.debloating.span_document import document_of, spans_of
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.records.library_spans import LibrarySpans, spans_file
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls


def address_of(prefix: Path, name: str) -> int:
    elf = read_elf(prefix / "lib/libmine.so")
    names, starts = function_names(elf), read_functions(elf).start.tolist()
    return next(int(at) for at in starts if names.of(at) == name)


ORIGINAL, PACKED = Source(Fallback.ORIGINAL), Source(Fallback.PACKED)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[str]:
    """The address of a server of the store's files."""
    handler = partial(QuietHandler, directory=str(store))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are no output of the tests."""


def pages(name: str, table: np.ndarray) -> set[int]:
    return {
        page
        for address, size in zip(table["address"].tolist(), table["size"].tolist(), strict=True)
        for page in range(address // 4096, (address + (size & ~4095) - 1) // 4096 + 1)
    }


@pytest.mark.parametrize("library", ["libmine.so", "libthrows.so"])
def test_pages_go_whole_and_all_that_was_on_them_is_known(prefix: Path, library: str) -> None:
    elf = read_elf(prefix / "lib" / library)
    functions, names = read_functions(elf), function_names(elf)
    kept = np.array([(names.of(at) or "").startswith("used") for at in functions.start.tolist()])
    spans = whole_pages(elf, locate(elf, functions, kept, keep_symbols=False), 4096)
    document = document_of(elf.path, library, spans, 4096, sha256=sha256_of(elf.path))
    removed = removed_pages(elf, spans, document)
    gone = pages("holes", removed.holes)
    assert pages("pieces", removed.pieces) == gone and len(gone) >= 1
    code = np.repeat(spans.reason == SpanReason.UNUSED, spans.end - spans.start)
    assert {int(at) // 4096 for at in elf.addresses_of(np.flatnonzero(code))} == gone
    assert (
        removed.pieces["offset"].tolist()
        == elf.offsets_of(removed.pieces["address"].astype(np.int64)).tolist()
    )
    on_pages = {
        int(start)
        for start, size in zip(functions.start.tolist(), functions.size.tolist(), strict=True)
        if gone & set(range(start // 4096, (start + max(size, 1) - 1) // 4096 + 1))
    }
    assert set(removed.functions["address"].tolist()) == on_pages
    assert not on_pages & set(functions.start[kept].tolist())
    again = LibrarySpans.model_validate_json(document.to_text())
    assert np.array_equal(spans_of(again).end, spans.end)


@pytest.mark.parametrize("kind", ["original", "packed", "folder", "http"])
@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_what_was_removed_comes_back_and_is_recorded(
    build: Callable[..., Path],
    prefix: Path,
    record: Path,
    mode: Mode,
    kind: str,
    store: Path,
    served: str,
) -> None:
    source = {
        "original": ORIGINAL,
        "packed": PACKED,
        "folder": Source(Fallback.STORE, store),
        "http": Source(Fallback.STORE, store, served),
    }[kind]
    environment = build(mode, source)
    program = "print(mine.far(7), mine.near(8), mine.used(1), mine.far(8), mine.outer(6))"
    done = run(environment, record, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 3 4 11 8\n", "")
    events = {event.address: event for event in read_removed_calls(record)}
    assert set(events) == {address_of(prefix, name) for name in ("far", "outer")}
    assert {event.library for event in events.values()} == {"lib/libmine.so"}
    if kind != "http":  # names are not fetched
        assert sorted(event.name for event in events.values()) == ["far", "outer"]
    assert record.read_text().splitlines()[-1].endswith("}")
    assert '"functions": ' in record.read_text().splitlines()[-1]


# Instructions of 10 bytes: some lie over the ends of pages.
LONG = r"""
__attribute__((aligned(4096))) int used(int x) { return x; }
__asm__(".fill 7, 1, 0x90");
long far(void) {
  long sum = 0;
  __asm__ volatile(".rept 2000\n movabs $0x0102030405060708, %%rcx\n add %%rcx, %0\n .endr"
                   : "+r"(sum) : : "rcx");
  return sum;
}
__attribute__((aligned(4096))) int used_more(int x) { return x; }
"""


@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_a_function_that_begins_on_a_page_that_stays(
    build: Callable[..., Path], record: Path, tmp_path: Path, mode: Mode
) -> None:
    (tmp_path / "lib").mkdir()
    compile_library(tmp_path / "lib/libmine.so", LONG)
    program = "mine.far.restype = ctypes.c_ulong; print(mine.far(), mine.used(3))"
    done = run(build(mode, origin=tmp_path), record, program)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"{2000 * 0x0102030405060708 % (1 << 64)} 3\n",
        "",
    )
    assert set(called(record)) == {"far"}


@pytest.mark.parametrize("source", [ORIGINAL, PACKED])
def test_data_comes_back_to_whoever_reads_it(
    build: Callable[..., Path], record: Path, source: Source
) -> None:
    environment = build("compact", source)
    load = "data = ctypes.CDLL(sys.prefix + '/lib/libdata.so')\n"
    done = run(environment, record, load + "print(data.used_byte(70000), data.used_sum())")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 32\n", "")
    assert {call.library for call in read_removed_calls(record)} == {"lib/libdata.so"}
    strict = run(environment, record, load + "data.used_byte(70000)", "strict")
    assert strict.returncode == 70 and strict.stderr.startswith("trimtab: code in libdata.so")


def test_loading_gpu_code_at_the_start_does_not_bring_it_all_back(
    build: Callable[..., Path], prefix: Path, tmp_path: Path, record: Path
) -> None:
    show = "libc = ctypes.CDLL(None); libc.getenv.restype = ctypes.c_char_p\n"
    show += "print(libc.getenv(b'CUDA_MODULE_LOADING').decode())"
    done = run(build(), record, show, CUDA_MODULE_LOADING="EAGER")
    assert done.stdout == "LAZY\n"
    (tmp_path / "lib").mkdir()
    shutil.copy(prefix / "lib/libmine.so", tmp_path / "lib/libmine.so")
    without_gpu_code = build(origin=tmp_path)
    done = run(without_gpu_code, record, show, CUDA_MODULE_LOADING="EAGER")
    assert done.stdout == "EAGER\n"


def test_without_a_miss_nothing_happens(slim: Path, record: Path) -> None:
    done = run(slim, record, "print(mine.used(5), mine.near(5), 'ctypes' in sys.modules)", "strict")
    assert (done.returncode, done.stdout, done.stderr) == (0, "16 0 True\n", "")
    assert not record.exists()


def test_report_only_counts(slim: Path, record: Path) -> None:
    done = run(slim, record, "print(mine.threaded(7), mine.outer(7))", "report")
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 7\n", "")
    assert '"functions": 2}' in record.read_text() and len(record.read_text().splitlines()) == 1
    assert read_removed_calls(record) == []


def test_the_record_lies_in_the_environment_by_default(
    slim: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRIMTAB_FALLBACK", raising=False)
    monkeypatch.delenv("TRIMTAB_FALLBACK_RECORD", raising=False)
    subprocess.run([slim / "bin/python", "-c", PRELUDE + "mine.outer(1)"], check=True, timeout=60)
    expected = RemovedCall("lib/libmine.so", address_of(prefix, "outer"), "outer", 1)
    assert expected in read_removed_calls(slim / "trimtab/fallback.jsonl")


def test_an_operator_is_told_at_the_end_of_a_process(
    slim: Path, record: Path, tmp_path: Path
) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f'#!/bin/sh\nwc -l < "$1" > {tmp_path}/told\n')
    hook.chmod(0o755)
    run(slim, record, "mine.used(1)", TRIMTAB_FALLBACK_HOOK=str(hook))
    assert not (tmp_path / "told").exists()
    run(slim, record, "mine.threaded(1)", TRIMTAB_FALLBACK_HOOK=str(hook))
    assert (tmp_path / "told").read_text().strip() == "2"


def test_threads_miss_the_same_pages_at_once(slim: Path, record: Path) -> None:
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
""")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    assert len(record.read_text().splitlines()) == 61
    assert set(called(record)) == {f"work_{i}" for i in range(60)}


STRICT_ENDS = {
    "in the main thread": "mine.far(7)",
    "within an except of the program's": """
try: mine.far(7)
except BaseException: pass
finally: print("finally")
""",
    "in another thread": "t = threading.Thread(target=mine.far, args=(7,)); t.start(); t.join()",
    "while an interpreter ends": "import atexit; atexit.register(mine.far, 7)",
}


@pytest.mark.parametrize("program", STRICT_ENDS.values(), ids=STRICT_ENDS)
def test_strict_ends_the_process_and_does_nothing_else(
    slim: Path, record: Path, program: str
) -> None:
    done = run(slim, record, program + "\nprint('went on', flush=True)", "strict")
    assert done.returncode == 70
    assert done.stdout in ("", "went on\n" if "atexit" in program else "")
    assert done.stderr.startswith("trimtab: far in libmine.so (address 0x")
    assert "TRIMTAB_FALLBACK=restore" in done.stderr and len(done.stderr.splitlines()) == 1
    assert called(record) == ["far"]


def test_strict_in_a_forked_child_ends_the_child(slim: Path, record: Path) -> None:
    done = run(slim, record, """
if not os.fork():
    mine.threaded(1)
    print("the parent's code in the child", flush=True)
    os._exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]))
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=mine.work_1, args=(1,))
process.start(); process.join(); print(process.exitcode)
""", "strict")  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "70\n70\n")
    assert called(record) == ["threaded", "work_1"]


def test_names_are_readable_and_without_one_the_nearest_is_said(slim: Path, record: Path) -> None:
    load = "throws = ctypes.CDLL(sys.prefix + '/lib/libthrows.so')\n"
    strict = run(slim, record, load + "throws._ZN4deep6thrownEi(1)", "strict")
    assert strict.stderr.startswith("trimtab: deep::thrown(int) in libthrows.so (address 0x")
    done = run(slim, record, load + "print(throws.caught(2), throws.caught(7))")
    assert (done.returncode, done.stdout) == (0, f"2 {-len('too large: 7')}\n")


FAR = "__attribute__((noinline, aligned(4096)))"
FILL = '__asm__ volatile(".fill 65536, 1, 0x90");'
DEMANGLES = f"""
{FAR} int used(void) {{ return 1; }}
{FAR} char *__cxa_demangle(const char *name, char *to, void *bytes, int *status) {{
  {FILL}
  *status = 0;
  return "as people read it";
}}
"""


def test_what_makes_names_readable_may_have_been_removed_itself(
    build: Callable[..., Path], record: Path, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    compile_library(tmp_path / "lib/libmine.so", f"{FAR} int mine(int x) {{ {FILL} return x; }}")
    command = ["gcc", "-x", "c", "-", "-O1", "-shared", "-fPIC", "-Wl,-soname,libstdc++.so.6"]
    command += ["-o", str(tmp_path / "lib/libstdc++.so.6")]
    subprocess.run(command, input=DEMANGLES, text=True, check=True)
    slim = build(origin=tmp_path)
    load = "cxx = ctypes.CDLL(sys.prefix + '/lib/libstdc++.so.6')\n"
    strict = run(slim, record, load + "mine.mine(1)", "strict")
    assert strict.stderr.startswith("trimtab: as people read it in libmine.so"), strict
    assert strict.returncode == 70 and called(record) == ["mine"]


def test_handlers_and_masks_of_the_program_are_as_it_left_them(slim: Path, record: Path) -> None:
    done = run(slim, record, """
import faulthandler
faulthandler.enable()
signal.signal(signal.SIGTRAP, lambda number, frame: print("trapped", number))
ours = [signal.SIGTRAP, signal.SIGSEGV, signal.SIGUSR1]
now = lambda: sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))
signal.pthread_sigmask(signal.SIG_BLOCK, ours)
print(mine.far(7), mine.near(8), now())
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGSEGV]); print(now())
signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR1]); print(now())
os.kill(os.getpid(), signal.SIGTRAP)
print(signal.getsignal(signal.SIGTRAP) is not signal.SIG_DFL)
""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = ["9 3 [5, 10, 11]", "[5, 10]", "[10]", "trapped 5", "True"]
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
@pytest.mark.parametrize(
    ("program", "number"),
    [
        ("mine.crash(0)", signal.SIGSEGV),
        ("ctypes.string_at(0)", signal.SIGSEGV),
        ("ctypes.memset(ctypes.cast(mine.far, ctypes.c_void_p).value, 0, 1)", signal.SIGSEGV),
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


def test_without_the_removed_code_the_message_says_so(
    build: Callable[..., Path], record: Path
) -> None:
    environment = build()
    folder = environment / "trimtab/removed"
    folder.rename(environment / "elsewhere")
    done = run(environment, record, "mine.far(1)")
    assert done.returncode == 70
    assert re.match(r"trimtab: lib/libmine.so at 0x[0-9a-f]+ was called", done.stderr)
    assert str(folder) in done.stderr
    assert run(environment, record, "ctypes.string_at(0)").returncode == -signal.SIGSEGV
    assert run(environment, record, "print(mine.used(1))").stdout == "4\n"


@pytest.mark.parametrize("damage", ["magic", "count", "short", "long", "digest"])
def test_a_damaged_sidecar_stops_with_a_message(
    build: Callable[..., Path], record: Path, damage: str
) -> None:
    environment = build()
    sidecar = environment / "trimtab/removed/lib__libmine.so.removed"
    data = bytearray(sidecar.read_bytes())
    if damage == "magic":
        data[0] ^= 1
    elif damage == "count":
        data[56:60] = b"\xff" * 4
    elif damage == "short":
        del data[-1000:]
    elif damage == "long":
        data += b"x"
    else:
        rows = np.frombuffer(data, "<u4", 5, 56).tolist()
        start = 4096 + 8 * rows[0] + 12 * rows[1] + 8 * rows[2] + 16 * rows[3]
        data[start : start + 16 * rows[4]] = bytes(16 * rows[4])
    sidecar.write_bytes(data)
    done = run(environment, record, "mine.far(1)")
    assert done.returncode == 70, done
    assert ("was changed, is gone" if damage == "digest" else "damaged") in done.stderr


@pytest.mark.parametrize("kind", ["original", "packed", "http"])
@pytest.mark.parametrize("damage", ["altered", "gone"])
def test_a_store_that_is_away_or_altered_gives_a_clear_end(
    build: Callable[..., Path], prefix: Path, tmp_path: Path, record: Path, kind: str, damage: str
) -> None:
    origin = tmp_path / "origin"
    (origin / "lib").mkdir(parents=True)
    (origin / "lib/libmine.so").write_bytes((prefix / "lib/libmine.so").read_bytes())
    source = {
        "original": ORIGINAL,
        "packed": PACKED,
        "http": Source(Fallback.STORE, tmp_path / "store", "http://127.0.0.1:1/"),
    }[kind]
    environment = build("compact", source, origin)
    places = {
        "original": [origin / "lib/libmine.so"],
        "packed": [p for p in (environment / "trimtab/store").rglob("*") if p.is_file()],
        "http": [],
    }[kind]
    for path in places:
        if damage == "gone":
            path.unlink()
        else:
            data = np.fromfile(path, np.uint8)
            (data ^ 1).tofile(path)
    done = run(environment, record, "print(mine.used(1), flush=True); mine.far(1)")
    assert (done.returncode, done.stdout) == (70, "4\n")
    assert "was changed, is gone or cannot be reached" in done.stderr


def test_an_original_that_is_gone_is_named_before_and_at_a_miss(
    build: Callable[..., Path], prefix: Path, tmp_path: Path, record: Path
) -> None:
    """Where no file was removed, so that nothing but this fallback is loaded; once, for a child."""
    origin = tmp_path / "origin"
    (origin / "lib").mkdir(parents=True)
    (origin / "lib/libmine.so").write_bytes((prefix / "lib/libmine.so").read_bytes())
    environment = build("compact", ORIGINAL, origin)
    identity = identity_of(origin, prefix_tree(origin), ["lib/libmine.so"])
    (environment / IDENTITY_FILE).write_bytes(identity_bytes(identity))
    child = "import subprocess; subprocess.run([sys.executable, '-c', ''], env={**os.environ})\n"
    program = f"{child}print(mine.used(1), flush=True); mine.far(1)"
    done = run(environment, record, program)
    assert (done.returncode, done.stderr) == (0, "")
    (origin / "lib/libmine.so").unlink()
    done = run(environment, record, program)  # nothing says that it changed: no package is known
    assert done.returncode == 70 and "was changed, is gone or cannot be reached" in done.stderr
    shutil.rmtree(origin)
    done = run(environment, record, program)
    first, last = done.stderr.splitlines()
    problem = first.removeprefix("trimtab: ")
    assert problem.startswith(f"the original environment {origin}, on which")
    assert "is missing or cannot be reached. Put it back" in problem
    assert (done.returncode, done.stdout) == (70, "4\n") and last.endswith(f": {problem}")


def test_another_store_takes_the_place_of_one_that_is_gone(
    build: Callable[..., Path], store: Path, served: str, tmp_path: Path, record: Path
) -> None:
    build("compact", Source(Fallback.STORE, store))
    environment = build("compact", Source(Fallback.STORE, tmp_path, "http://127.0.0.1:1/"))
    for address in (str(store), served):
        done = run(environment, record, "print(mine.far(7))", TRIMTAB_STORE=address)
        assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr


def test_what_is_fetched_is_kept_and_fetched_again_where_it_was_damaged(
    build: Callable[..., Path], store: Path, served: str, tmp_path: Path, record: Path
) -> None:
    environment = build("compact", Source(Fallback.STORE, store, served))
    cache = {"TRIMTAB_STORE_CACHE": str(tmp_path / "cache")}
    for damage in (False, True):
        for path in (tmp_path / "cache").rglob("*"):
            if path.is_file() and damage:
                path.write_bytes(b"damaged")
        done = run(environment, record, "print(mine.far(7))", **cache)
        assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
    kept = run(
        environment, record, "print(mine.far(7))", TRIMTAB_STORE="http://127.0.0.1:1/", **cache
    )
    assert (kept.returncode, kept.stdout) == (0, "9\n"), kept.stderr


@pytest.mark.parametrize("danger", ["of another user", "anybody may write", "a link"])
def test_a_cache_that_others_may_write_to_is_refused(
    build: Callable[..., Path],
    store: Path,
    served: str,
    tmp_path: Path,
    record: Path,
    danger: str,
) -> None:
    environment = build("compact", Source(Fallback.STORE, store, served))
    cache, target = tmp_path / "cache", tmp_path / "target"
    target.mkdir()
    if danger == "a link":
        cache.symlink_to(target)
    else:
        cache.mkdir()
    if danger == "anybody may write":
        cache.chmod(0o1777)
    else:
        if os.geteuid():
            pytest.skip("needs a second user")
        os.chown(target if cache.is_symlink() else cache, 65534, 65534)
    variables = {"TRIMTAB_STORE_CACHE": str(cache)}
    done = run(environment, record, "print(mine.far(7))", **variables)
    assert (done.returncode, done.stdout) == (70, "")
    assert f"{cache}, where removed code is kept that was fetched, is no folder of" in done.stderr
    assert not [*cache.iterdir(), *target.iterdir()]


def test_programs_without_python(slim: Path, prefix: Path, tmp_path: Path, record: Path) -> None:
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
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n9\n", "")
    environment["TRIMTAB_FALLBACK"] = "strict"
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (70, "4\n")
    assert done.stderr.startswith("trimtab: far in libmine.so (address 0x")


def test_an_unknown_behaviour_is_named_and_restores(slim: Path, record: Path) -> None:
    done = run(slim, record, "print(mine.far(7))", "lenient")
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert "TRIMTAB_FALLBACK=lenient: expected restore, strict or report" in done.stderr


def test_what_cannot_fall_back_is_refused(
    build: Callable[..., Path], prefix: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="mode punch leaves zeros"):
        build("punch")
    add_fallback(tmp_path, prefix, manifest_of("compact", {}), tmp_path, ORIGINAL)
    (tmp_path / "bin").mkdir()
    with pytest.raises(UserError, match="no lib/python3"):
        PythonPrefix(prefix).adapt(tmp_path, tmp_path, tmp_path)
    elf = read_elf(prefix / "lib/libmine.so")
    other = Spans(np.array([elf.size_bytes]), np.array([SpanReason.UNUSED], np.uint8), "ab")
    name = "lib/libmine.so"
    digest = sha256_of(prefix / name)
    document = document_of(prefix / name, name, other, 4096, sha256=digest)
    document.write(spans_file(tmp_path, name))
    with pytest.raises(UserError, match="not the library that was debloated"):
        add_fallback(tmp_path, prefix, manifest_of("compact", {name: digest}), tmp_path, ORIGINAL)


def test_who_asks_what_a_slim_library_needs_is_told(build: Callable[..., Path]) -> None:
    """Its name for the fallback stands before the other names; nothing at all was read of it."""
    library = build() / "lib/libmine.so"
    with library.open("rb") as file:
        loading = read_loading(file)
    fallback = "$ORIGIN/../trimtab/libtrimtab-fallback.so"
    assert loading is not None
    assert loading.needed == (*read_elf(library).needed, fallback)
