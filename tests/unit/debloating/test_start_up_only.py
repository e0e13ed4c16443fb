"""The option `start_up_only: remove`, from the record of a run to a call into what is gone."""

import lzma
import re
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.initializers import NOTE
from trimtab.binaries.rewriting.spans import SpanReason
from trimtab.cli import workspace
from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.gpu.elements import ElementReason as GpuReason
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.libraries.reconstruct import reconstruct
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.files import sha256_of
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES
from trimtab.records.usage import Usage, UsedLibrary

SOURCE = """
static int table[100];
__attribute__((constructor)) static void fill(void) {
  for (int i = 0; i < 100; i++) table[i] = i * i;
}
int api_square(int x) { return table[x]; }
""" + "\n".join(f"int api_{i}(int x) {{ return table[x] + {i}; }}" for i in range(32))
NAME = "lib/libtable.so"
CALL = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).api_square(7))"
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded')"

KEEP = Debloat(name="x", remove=Remove.CODE)
REMOVE = Debloat(name="x", remove=Remove.CODE, start_up_only="remove")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "env"
    venv.create(folder, symlinks=True)
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "-falign-functions=4096", "-x", "c", "-", "-o",
         str(folder / NAME)],
        input=SOURCE, text=True, check=True,
    )  # fmt: skip
    return folder


def addresses(library: Path, *names: str) -> list[int]:
    elf = read_elf(library)
    known = function_names(elf)
    return [int(s) for s in read_functions(elf).start if known.of(int(s)) in names]


def debloat(environment: Path, *used: str, traced: bool = True, **options: str) -> Path:
    library = environment / NAME
    elf = read_elf(library)
    functions = addresses(library, *used)
    assert len(functions) == len(used)
    record = UsedLibrary(
        path=str(library), build_id=elf.build_id, size_bytes=elf.size_bytes,
        sha256=sha256_of(library), traced=traced,
        not_traced_because="" if traced else "hidden", functions_total=34,
        functions_used=len(used), used_functions=functions,
    )  # fmt: skip
    usage = environment.parent / "usage.json"
    Usage(workload="table", command=["python"], complete=True, libraries=[record]).write(usage)
    workload = Workload(name="table", command=["python"], python=str(environment / "bin/python"))
    folder = environment.parent / "target"
    chosen = Debloat(name="x", remove=Remove.CODE, **options)  # type: ignore[arg-type]
    debloat_target(DebloatStage("table", "here", [], [workload], chosen), [usage], folder)
    return folder


def slim_environment(environment: Path, target: Path, fallback: str = "original") -> Path:
    slim = target / "env"
    PythonPrefix(environment).build(target, "copy", Source(Fallback(fallback)), slim)
    return slim


def run(environment: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [str(environment / "bin/python"), "-c", code, str(environment / NAME)]
    return subprocess.run(command, capture_output=True, text=True)


def spans_of(target: Path) -> LibrarySpans:
    return LibrarySpans.read(target / "spans/lib__libtable.so.json")


def test_it_is_off_unless_asked_for(environment: Path) -> None:
    target = debloat(environment, "fill")
    spans = spans_of(target)
    assert not spans.bytes_by_reason[SpanReason.START_UP_CODE.text] and not spans.note
    assert spans.bytes_by_reason[SpanReason.USED.text] and spans.started


@pytest.mark.parametrize("used", [("fill", "api_square"), ("fill", "api_3")])
def test_a_library_that_was_called_stays_as_it_was(environment: Path, used: list[str]) -> None:
    before = spans_of(debloat(environment, *used))
    after = spans_of(debloat(environment, *used, start_up_only="remove"))
    assert after == before


def test_a_library_that_was_not_traced_is_started(environment: Path) -> None:
    target = debloat(environment, traced=False, start_up_only="remove")
    assert not spans_of(target).bytes_by_reason[SpanReason.START_UP_CODE.text]


def test_nothing_of_its_code_is_left_and_the_table_says_so(environment: Path) -> None:
    target = debloat(environment, "fill", start_up_only="remove")
    row = read_table(target / "libraries.parquet", LIBRARIES).iloc[0]
    assert row["debloated"] and row["reason"] == ""
    assert row["functions_after"] == 0 < row["functions_before"]
    assert row["function_bytes_after"] < 100  # the linkage stubs count as one function
    assert row["kept_bytes"] + row["removed_bytes"] == row["size_before_bytes"]
    document = spans_of(target)
    assert document.note == NOTE and not document.started
    assert document.bytes_by_reason[SpanReason.START_UP_CODE.text] > 32 * 4096


@pytest.mark.parametrize("mode", ["compact", "zero"])
@pytest.mark.parametrize("fallback", ["original", "packed"])
def test_it_loads_and_a_call_ends_with_a_message(
    environment: Path, mode: str, fallback: str
) -> None:
    target = debloat(environment, "fill", start_up_only="remove", mode=mode)
    slim = slim_environment(environment, target, fallback)
    assert run(environment, CALL).stdout == "49\n"
    loaded = run(slim, LOAD)
    assert (loaded.stdout, loaded.returncode) == ("loaded\n", 0), loaded.stderr
    called = run(slim, CALL)
    assert called.returncode == 70 and called.stdout == ""
    assert re.search(r"libtable\.so at 0x\w+ was called, but .* is not started", called.stderr)


@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_reconstruct_gives_the_same_library(environment: Path, mode: str) -> None:
    target = debloat(environment, "fill", start_up_only="remove", mode=mode, fallback="none")
    slim = slim_environment(environment, target, "none")
    rebuilt = reconstruct(
        target / "spans/lib__libtable.so.json", environment.parent / "again", mode
    )
    assert rebuilt.read_bytes() == (slim / NAME).read_bytes()


def test_gpu_code_goes_with_a_library_that_does_not_hand_it_over(tmp_path: Path) -> None:
    library = tmp_path / "libdemo.so"
    packed = Path(__file__).parent / "data" / "libdemo_h200.so.xz"
    library.write_bytes(lzma.decompress(packed.read_bytes()))
    elf = read_elf(library)
    nothing = np.empty(0, np.int64)
    target = ProfiledLibrary("libdemo.so", library, elf.build_id, elf.size_bytes, nothing, "")
    fits_h200 = GpuScope(gpus=(90,))
    assert locate_used(target, KEEP, fits_h200).gpu.elements_kept > 0
    located = locate_used(target, REMOVE, fits_h200)
    assert not located.started
    assert located.gpu.elements_kept == located.gpu.bytes_kept == 0
    removed = sum(map(located.gpu.removed_because, GpuReason))
    assert removed == located.gpu.elements_total == 8
    assert not located.spans.bytes_of(SpanReason.GPU_USED)
    # Where all GPU code is kept, so are the constructors that hand it over.
    assert locate_used(target, REMOVE, GpuScope()).started


HOST = """
typedef int (*plugin)(int);
static plugin registered;
void register_plugin(plugin p) { registered = p; }
int call_plugin(int x) { return registered ? registered(x) : -1; }
"""
PLUGIN = """
void register_plugin(int (*)(int));
static int triple(int x) { return x * 3; }
__attribute__((constructor)) static void start(void) { register_plugin(triple); }
"""
PROGRAM = """
import ctypes, sys
library = sys.prefix + "/lib/lib"
ctypes.CDLL(library + "table.so")
host = ctypes.CDLL(library + "host.so")
ctypes.CDLL(library + "plugin.so")
print(host.call_plugin(5))
"""


def test_a_plugin_that_registers_itself_goes_on_working(environment: Path) -> None:
    """Traced for real: it exports nothing, so that only what its start-up calls tells."""
    lib, folder = environment / "lib", environment.parent / "workspace"
    compiler = ["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o"]
    link = [f"-L{lib}", "-lhost", "-Wl,-rpath,$ORIGIN", "-fvisibility=hidden"]
    host = [*compiler, str(lib / "libhost.so"), "-Wl,-soname,libhost.so"]
    subprocess.run(host, input=HOST, text=True, check=True)
    plugin = [*compiler, str(lib / "libplugin.so"), *link]
    subprocess.run(plugin, input=PLUGIN, text=True, check=True)
    program = environment.parent / "program.py"
    program.write_text(PROGRAM)
    command = [str(environment / "bin/python"), str(program)]
    workspace.trace(folder, command, traced_runs=1)
    options = Debloat(name="x", remove=Remove.CODE, start_up_only="remove")
    workspace.debloat(folder, options, [], 0, lambda *_: None, lambda *_: None)
    slim = folder / "env"
    started = {name: LibrarySpans.read(folder / f"spans/lib__lib{name}.so.json").started
               for name in ("table", "host", "plugin")}  # fmt: skip
    assert started == {"table": False, "host": True, "plugin": True}
    command[0] = str(slim / "bin/python")
    assert subprocess.check_output(command, text=True) == "15\n"
