"""Libraries of which nothing but start-up code ran: which they are, and what is left of them."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from example_libraries import CODE_FLAGS, LAYOUTS

from trimtab.binaries.elf.functions import Functions, read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.compact import Mode, rewrite
from trimtab.binaries.rewriting.initializers import NOTE, stop_patches, strip_initializers
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import SpanReason
from trimtab.binaries.rewriting.start_up import why_started

# What runs at its start only fills memory of its own; `api_*` are for others.
QUIET = """
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
namespace {
std::map<std::string, int> table;
struct Filled {
  Filled() { start_up_fill(); }
  ~Filled() { table.clear(); }
  __attribute__((noinline)) static void start_up_fill() { table["one"] = 1; table["two"] = 2; }
} filled;
thread_local int per_thread = 77;
}
extern "C" {
extern const int api_primes[4] = {2, 3, 5, 7};
int api_size() { return (int)table.size() + per_thread; }
int api_text(const char *text) { return (int)std::string(text).size(); }
}
"""
NOISY = """
#include <string.h>
#include <unistd.h>
#include <stdlib.h>
static const char *texts[] = {"array", "init", "fini", "exit"};
static void say(int which) { if (write(1, texts[which], strlen(texts[which])) < 0) abort(); }
__attribute__((constructor)) static void construct(void) { say(0); }
__attribute__((destructor)) static void destruct(void) { say(3); }
void old_start(void) { say(1); }
void old_end(void) { say(2); }
const int api_primes[4] = {2, 3, 5, 7};
char large[200000] = "constant";
int api(int x) { return x + large[x]; }
"""
OPEN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(list((ctypes.c_int * 4).in_dll(library, "api_primes")), flush=True)
for name in sys.argv[2:]:
    getattr(library, name)
"""


def build(path: Path, source: str, *flags: str, language: str = "c++") -> Path:
    subprocess.run(
        ["g++", "-x", language, "-", *CODE_FLAGS, *flags, "-o", str(path)],
        input=source, text=True, check=True,
    )  # fmt: skip
    return path


def ran(elf: Elf, functions: Functions, *also: str) -> np.ndarray:
    """Mark what the constructors run: everything that is no `api` and no destructor, and `also`."""
    names = function_names(elf)
    every = [names.of(int(start)) or "" for start in functions.start]
    return np.array([
        bool(name) and ("api" not in name or name in also) and "D2Ev" not in name for name in every
    ])  # fmt: skip


def reason(path: Path, *also: str) -> str:
    elf = read_elf(path)
    functions = read_functions(elf)
    return why_started(elf, functions, ran(elf, functions, *also))


def stopped(path: Path, destination: Path, mode: Mode = "compact") -> Path:
    elf = read_elf(path)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.zeros(len(functions), bool), keep_symbols=False)
    spans = strip_initializers(elf, spans)
    assert spans.note == NOTE
    rewrite(elf, spans, mode, destination, patches=stop_patches(elf))
    return destination


def opened(path: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", OPEN, str(path), *names]
    return subprocess.run(command, capture_output=True, text=True)


def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script = tmp_path_factory.mktemp("script") / "exports.map"
    script.write_text("{ global: api*; local: *; };")
    return script


@pytest.fixture(scope="module")
def only_api(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"-Wl,--version-script={exports(tmp_path_factory)}"


def test_a_library_that_only_fills_its_own_tables_need_not_start(
    tmp_path: Path, only_api: str
) -> None:
    assert reason(build(tmp_path / "libquiet.so", QUIET, only_api)) == ""


def test_a_call_of_an_exported_function_is_use(tmp_path: Path, only_api: str) -> None:
    path = build(tmp_path / "libquiet.so", QUIET, only_api)
    assert reason(path, "api_size") == "api_size was called"


REGISTERED = 'extern "C" void register_plugin(void (*)()); static void plugin() {}\n'
AT_START = "__attribute__((constructor)) static void start() "
WAYS_OUT = {
    "calls another library": (REGISTERED + AT_START + "{ register_plugin(plugin); }",
                              "register_plugin"),
    "calls it through a pointer": (
        REGISTERED + "void (*volatile pointers[])(void (*)()) = {register_plugin};"
        + AT_START + "{ pointers[0](plugin); }", "register_plugin"),
    "writes its variable": ("extern void *plugins[];" + AT_START + "{ plugins[0] = plugins; }",
                            "plugins"),
    "starts a thread": ("#include <pthread.h>\nstatic void *run(void *) { return 0; }" + AT_START
                        + "{ pthread_t t; pthread_create(&t, 0, run, 0); }", "pthread_create"),
    "handles a signal": ("#include <signal.h>\nstatic void handle(int) {}" + AT_START
                         + "{ signal(SIGUSR1, handle); }", "signal"),
    "loads a library": ('#include <dlfcn.h>\n' + AT_START + '{ dlopen("libm.so.6", RTLD_NOW); }',
                        "dlopen"),
    "sets the environment": ("#include <stdlib.h>\n" + AT_START + '{ setenv("A", "1", 1); }',
                             "setenv"),
    "exports a variable": ("int api_state;" + AT_START + "{ api_state = 1; }",
                           "exports the variable api_state"),
    "exports a table of virtual functions": (
        "struct api_shape { virtual int area(); };\nint api_shape::area() { return 1; }",
        "exports the variable _ZT"),
    "exports a variable of each thread": (
        "thread_local int api_count = 3;" + AT_START + "{ api_count = 4; }",
        "exports the variable api_count"),
    "chooses functions": (
        "static int one() { return 1; }\n"
        'extern "C" { static int (*choose())() { return one; }\n'
        'int api() __attribute__((ifunc("choose"))); }', "chooses functions"),
    "exports untraced code": (
        'asm(".text\\n.globl api_assembly\\n.type api_assembly, @function\\napi_assembly: ret");'
        "static volatile int state;" + AT_START + "{ state = 1; }",
        "api_assembly are not traced"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("flags", [[], ["-fno-plt", "-Wl,-z,now"]], ids=["lazy", "now"])
def test_whoever_could_notice_keeps_a_library_started(
    tmp_path: Path, way: str, flags: list[str]
) -> None:
    source, expected = WAYS_OUT[way]
    script = tmp_path / "exports.map"
    script.write_text("{ global: api*; _ZT*; local: *; };")
    path = build(tmp_path / "lib.so", source, f"-Wl,--version-script={script}", *flags)
    assert expected in reason(path)


def test_what_functions_import_that_did_not_run_does_not_count(
    tmp_path: Path, only_api: str
) -> None:
    source = QUIET + '#include <dlfcn.h>\nextern "C" void *api_open() { return dlopen("x", 1); }'
    assert reason(build(tmp_path / "libquiet.so", source, only_api)) == ""


def test_a_library_without_a_function_table_is_started(tmp_path: Path) -> None:
    path = build(tmp_path / "lib.so", QUIET, "-Wl,--no-eh-frame-hdr")
    assert "told apart" in reason(path)


def test_relocations_in_other_tables_are_not_passed_over(tmp_path: Path) -> None:
    source, _ = WAYS_OUT["calls it through a pointer"]
    path = build(tmp_path / "lib.so", source, "-Wl,-z,nocombreloc")
    assert "not where they usually are" in reason(path)


RELR = ["-Wl,-z,pack-relative-relocs"]


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
@pytest.mark.parametrize("layout", [*LAYOUTS, "packed_relocations"])
def test_neither_constructors_nor_destructors_run(tmp_path: Path, layout: str, mode: Mode) -> None:
    flags = [*{**LAYOUTS, "packed_relocations": RELR}[layout]]
    path = build(tmp_path / "libnoisy.so", NOISY, "-Wl,-init=old_start", "-Wl,-fini=old_end",
                 *flags, language="c")  # fmt: skip
    before = opened(path, "api", "old_start")
    assert before.returncode == 0, before.stderr
    assert before.stdout == "initarray[2, 3, 5, 7]\nexitfini"
    slim = stopped(path, tmp_path / "slim.so", mode)
    after = opened(slim, "api", "old_start")
    assert after.returncode == 0, after.stderr
    assert after.stdout == "[2, 3, 5, 7]\n"
    assert read_elf(slim).build_id == read_elf(path).build_id


def test_its_code_is_gone_and_a_call_stops_there(tmp_path: Path, only_api: str) -> None:
    path = build(tmp_path / "libquiet.so", QUIET, only_api)
    for mode in ("zero", "compact"):
        slim = stopped(path, tmp_path / f"{mode}.so", mode)  # type: ignore[arg-type]
        code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).api_size())"
        run = subprocess.run([sys.executable, "-c", code, str(slim)], capture_output=True)
        assert -run.returncode in (signal.SIGTRAP, signal.SIGSEGV)
        assert run.stdout == b""
    assert slim.stat().st_size < path.stat().st_size / 2


def test_only_what_code_reads_is_removed(tmp_path: Path, only_api: str) -> None:
    """Against readelf's own list of sections: those that the dynamic linker reads stay whole."""
    path = build(tmp_path / "libquiet.so", QUIET, only_api)
    elf = read_elf(path)
    functions = read_functions(elf)
    nothing = np.zeros(len(functions), bool)
    spans = strip_initializers(elf, locate(elf, functions, nothing, keep_symbols=True))
    spans.validate(elf.size_bytes)
    reasons = np.repeat(spans.reason, spans.end - spans.start)
    for name in (".dynsym", ".dynstr", ".gnu.hash", ".rela.dyn", ".rela.plt", ".dynamic", ".got",
                 ".tdata", ".init_array", ".data.rel.ro"):  # fmt: skip
        section = elf.section(name)
        assert (
            section is None or (reasons[section.offset : section.end] == SpanReason.DATA).all()
        ), name
    text, tables = elf.section(".text"), elf.section(".gcc_except_table")
    assert text is not None and tables is not None
    assert (reasons[text.offset : text.end] == SpanReason.START_UP_CODE).all()
    assert (reasons[tables.offset : tables.end] == SpanReason.START_UP_DATA).all()
    assert not spans.bytes_of(SpanReason.UNUSED)
