"""The tracers of GPU code, on stand-ins for the driver and CUPTI."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest
from gpu_stand_ins import StandIns, build_stand_ins

from trimtab.profiling.tracing import kernels
from trimtab.profiling.tracing.cupti import NoGpuError, cuda_major, find_cupti
from trimtab.profiling.tracing.kernel_records import read_kernel_records
from trimtab.profiling.tracing.kernels import kernel_tracing_environment, read_kernel_trace
from trimtab.records.usage import UsedGpu, UsedModule

GPUS = [UsedGpu("Stand-in GPU 100% 0", 90), UsedGpu("Stand-in GPU 100% 1", 80)]
LOOKUPS = [
    "kernel=by_library", "function=by_module", "unified=by_unified", "texture=a_texture",
    "surface=a_surface", "global=a_global", "library_global=b_global", "managed=c_global",
]  # fmt: skip
KERNELS = ["by_library", "by_module", "by_unified"]
GLOBALS = ["a_global", "a_surface", "a_texture", "b_global", "c_global"]


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    return build_stand_ins(tmp_path_factory.mktemp("stand_ins"))


def module_file(path: Path, *symbols: str) -> Path:
    """An ELF file whose symbol table defines `symbols`: to the tracer, a cubin."""
    code = path.with_suffix(".c")
    functions = "".join(f"void {name}(void) {{ undefined(); }}\n" for name in symbols)
    code.write_text(f"void undefined(void);\n{functions}int variable_of_{path.stem} = 3;\n")
    subprocess.run(["gcc", "-c", "-o", path, code], check=True)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def by_name(modules: list[UsedModule]) -> UsedModule:
    return next(module for module in modules if module.sha256 == "")


def test_every_lookup_is_recorded(stand_ins: StandIns, tmp_path: Path) -> None:
    assert stand_ins.run(tmp_path, "init", "runtime_call", *LOOKUPS) == 0
    trace = read_kernel_trace(tmp_path)
    assert (trace.traced, trace.not_traced_because, trace.incomplete_because) == (True, "", [])
    assert trace.gpus == GPUS
    (module,) = trace.modules
    assert (module.kernels, module.globals) == (KERNELS, GLOBALS)
    assert (module.sha256, module.enumerated) == ("", False)


@pytest.mark.parametrize("way", ["linked", "dlsym", "entry"])
def test_the_interposer_sees_the_same_lookups(
    stand_ins: StandIns, tmp_path: Path, way: str
) -> None:
    """However a program gets at the driver's functions, and with the program still working."""
    actions = ["init", f"way={way}", *LOOKUPS, "list"]
    assert stand_ins.run(tmp_path / "driver", *actions, own_profiler=True) == 0
    assert stand_ins.run(tmp_path / "cupti", *actions) == 0
    (record,) = read_kernel_records(tmp_path / "driver")
    assert record.way == "driver"
    trace = read_kernel_trace(tmp_path / "driver")
    (module,) = trace.modules
    (seen_by_cupti,) = read_kernel_trace(tmp_path / "cupti").modules
    assert module.kernels == seen_by_cupti.kernels == sorted([*KERNELS, *LISTED])
    assert module.globals == seen_by_cupti.globals == GLOBALS
    assert (trace.gpus, trace.traced) == (GPUS, True)


LISTED = ["first_listed", "second_listed"]


@pytest.mark.parametrize("own_profiler", [False, True])
def test_listed_kernels_are_named_and_no_more_than_there_are(
    stand_ins: StandIns, tmp_path: Path, own_profiler: bool
) -> None:
    stand_ins.run(tmp_path, "init", "list", own_profiler=own_profiler)
    module = by_name(read_kernel_trace(tmp_path).modules)
    assert (module.kernels, module.enumerated) == (LISTED, True)
    stand_ins.run(tmp_path, "init", "list_one", own_profiler=own_profiler)
    assert by_name(read_kernel_trace(tmp_path).modules).kernels == LISTED[:1]


def test_names_go_to_the_modules_that_define_them(stand_ins: StandIns, tmp_path: Path) -> None:
    one = module_file(tmp_path / "one.o", "shared", "only_one", "never")
    two = module_file(tmp_path / "two.o", "shared", "first_listed")
    actions = [f"load={one}", f"load={two}", "kernel=shared", "kernel=only_one", "list"]
    actions += ["global=variable_of_two", "kernel=undefined"]
    assert stand_ins.run(tmp_path / "record", "init", *actions) == 0
    trace = read_kernel_trace(tmp_path / "record")
    modules = {module.sha256: module for module in trace.modules}
    assert set(modules) == {digest(one), digest(two), ""}
    first, second, rest = modules[digest(one)], modules[digest(two)], modules[""]
    assert first.kernels == ["only_one", "shared"]
    assert (first.globals, first.enumerated, first.size_bytes) == ([], False, one.stat().st_size)
    assert second.kernels == ["first_listed", "shared"]
    assert (second.globals, second.enumerated) == (["variable_of_two"], True)
    assert (rest.kernels, rest.enumerated) == (["second_listed", "undefined"], True)


def region_of(*elements: tuple[int, int, bytes]) -> bytes:
    """A fat binary region of elements: kind (1 PTX, 2 ELF), architecture, program."""
    body = b""
    for kind, architecture, program in elements:
        padded = program + b"\0" * (-len(program) % 8)
        header = (kind, 0x0101, 64, len(padded), 0, 0, 0, 0, architecture, 0, 0, 0x11, 0, 0)
        body += struct.pack("<HHIQIIHHIIIQQQ", *header) + padded
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(body)) + body


def as_cubin(path: Path) -> Path:
    """The ELF file at `path` as one for CUDA whose functions are kernels (STO_CUDA_ENTRY)."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 18, 190)
    first, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for header in range(first, first + 64 * count, 64):
        kind, offset, size = struct.unpack_from("<I16xQQ", data, header + 4)
        if kind == 2:
            for symbol in range(offset, offset + size, 24):
                data[symbol + 5] |= 0x10
    path.write_bytes(bytes(data))
    return path


PTX = b".version 8.0\n.target sm_75\n.visible .entry _Z3fft(\n.param .u64 p)\n{ ret; }\n\0"


@pytest.mark.parametrize("own_profiler", [False, True])
@pytest.mark.parametrize("call", ["data", "data_ex", "fat_binary"])
def test_a_region_that_is_loaded_as_a_whole_is_used_as_a_whole(
    stand_ins: StandIns, tmp_path: Path, call: str, own_profiler: bool
) -> None:
    """As cuFFT does: no name is asked, and of PTX the driver makes what is in no file."""
    one, old = (as_cubin(module_file(tmp_path / f"{name}.o", name)) for name in ("one", "old"))
    library = tmp_path / "lib some:where.so"
    pieces = [(2, 90, one.read_bytes()), (2, 70, old.read_bytes())]
    library.write_bytes(b"x" * 5000 + region_of(*pieces) + region_of((1, 75, PTX)))
    second = 5000 + len(region_of(*pieces))
    actions = ["init", f"{call}=5000:{library}", f"{call}={second}:{library}"]
    assert stand_ins.run(tmp_path / "record", *actions, own_profiler=own_profiler) == 0
    trace = read_kernel_trace(tmp_path / "record")
    assert trace.traced, trace.not_traced_because
    (nameless, cubin) = trace.modules
    assert (nameless.sha256, nameless.kernels) == ("", ["_Z3fft"])
    assert (cubin.sha256, cubin.size_bytes) == (digest(one), one.stat().st_size)
    assert (cubin.kernels, cubin.enumerated) == (["one"], True)


def test_what_is_loaded_from_no_file_or_is_no_region_is_left_out(
    stand_ins: StandIns, tmp_path: Path
) -> None:
    cubin = module_file(tmp_path / "one.o", "a")
    assert stand_ins.run(tmp_path / "record", "init", f"data=0:{cubin}") == 0
    assert read_kernel_trace(tmp_path / "record").modules == []


def test_a_region_that_is_gone_afterwards_keeps_all(stand_ins: StandIns, tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(region_of((1, 75, PTX)))
    assert stand_ins.run(tmp_path / "record", "init", f"data=0:{library}") == 0
    library.write_bytes(b"another file")
    trace = read_kernel_trace(tmp_path / "record")
    assert not trace.traced
    assert f"{library}: the GPU code at file offset 0x0" in trace.not_traced_because


def test_a_module_of_which_nothing_was_asked_is_used_as_a_whole(
    stand_ins: StandIns, tmp_path: Path
) -> None:
    one = module_file(tmp_path / "one.o", "compiled_of_ptx")
    two = module_file(tmp_path / "two.o", "asked", "unasked")
    actions = ["init", f"load={one}", f"load={two}", "kernel=asked"]
    assert stand_ins.run(tmp_path / "record", *actions) == 0
    modules = {module.sha256: module for module in read_kernel_trace(tmp_path / "record").modules}
    assert modules[digest(one)].kernels == ["compiled_of_ptx", "variable_of_one"]
    assert modules[digest(one)].enumerated
    assert modules[digest(two)].kernels == ["asked"]


def test_the_caches_of_compiled_code_are_left_to_the_conditions(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"CUDA_CACHE_PATH": "/mine", "LD_LIBRARY_PATH": str(stand_ins.folder)}
    found = environment_of(stand_ins.folder / "bin/python", tmp_path, monkeypatch, **given)
    assert {name for name in found if name.startswith("CUDA_CACHE")} == {"CUDA_CACHE_PATH"}
    assert found["CUDA_CACHE_PATH"] == "/mine"


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 100_003])
def test_modules_are_named_by_their_sha256(stand_ins: StandIns, tmp_path: Path, size: int) -> None:
    data = tmp_path / "module"
    data.write_bytes(bytes(i * 7 % 251 for i in range(size)))
    assert stand_ins.run(tmp_path / "record", "init", f"load={data}") == 0
    (module,) = read_kernel_trace(tmp_path / "record").modules
    assert (module.sha256, module.size_bytes) == (digest(data), size)


def test_sha256_without_the_processors_instructions(tmp_path: Path) -> None:
    """Both ways through the blocks, against each other over many blocks and states."""
    code = tmp_path / "both.c"
    sources = Path(__file__).parents[4] / "native/digest/sha256.c"
    code.write_text(f"""
#include "{sources}"
int main(void) {{
  static uint8_t data[64 * 1000];
  uint32_t a[8] = {{1, 2, 3, 4, 5, 6, 7, 8}}, b[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * i >> 3);
  if (!has_instructions()) return 77;
  add_blocks(a, data, 1000);
  add_blocks_in_hardware(b, data, 1000);
  return memcmp(a, b, sizeof a) != 0;
}}""")
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "both", code], check=True)
    status = subprocess.run([tmp_path / "both"]).returncode
    if status == 77:
        pytest.skip("this processor has no instructions for SHA-256")
    assert status == 0


def with_names_without_end(whole: bytes) -> bytes:
    """`whole` with its symbols' names moved to the end of the file, and no zero after the last."""
    first, count = struct.unpack_from("<Q", whole, 40)[0], struct.unpack_from("<H", whole, 60)[0]
    headers = range(first, first + 64 * count, 64)
    symbols = next(at for at in headers if struct.unpack_from("<I", whole, at + 4)[0] == 2)
    names = headers[struct.unpack_from("<I", whole, symbols + 40)[0]]
    changed = bytearray(whole + b"\0" + b"n" * 100)
    struct.pack_into("<QQ", changed, names + 24, len(whole), 101)
    return bytes(changed)


def test_damaged_modules_are_digested_and_do_no_harm(stand_ins: StandIns, tmp_path: Path) -> None:
    """Every field of headers, symbols and names is made too large, one at a time."""
    whole = module_file(tmp_path / "whole.o", "kernel").read_bytes()
    sections = int.from_bytes(whole[40:48], "little")
    files = []
    for place in range(0, len(whole), 2):
        files.append(tmp_path / f"damaged-{place}")
        files[-1].write_bytes(whole[:place] + b"\xff\xff" + whole[place + 2 :])
    for length in (10, 63, 64, sections, len(whole) - 1):
        files.append(tmp_path / f"cut-{length}")
        files[-1].write_bytes(whole[:length])
    files.append(tmp_path / "names-without-end")
    files[-1].write_bytes(with_names_without_end(whole))
    loads = [f"load={file}" for file in files]
    assert stand_ins.run(tmp_path / "record", "init", *loads) == 0
    trace = read_kernel_trace(tmp_path / "record")
    assert {module.sha256 for module in trace.modules} == {digest(file) for file in files}


@pytest.mark.parametrize("own_profiler", [False, True])
def test_a_killed_process_loses_nothing(
    stand_ins: StandIns, tmp_path: Path, own_profiler: bool
) -> None:
    status = stand_ins.run(tmp_path, "init", "kernel=last", "kill", own_profiler=own_profiler)
    assert status == -9
    assert by_name(read_kernel_trace(tmp_path).modules).kernels == ["last"]


@pytest.mark.parametrize("own_profiler", [False, True])
def test_forked_children_and_later_programs_have_records_of_their_own(
    stand_ins: StandIns, tmp_path: Path, own_profiler: bool
) -> None:
    actions = ["init", "kernel=before", "fork", "kernel=after", "exec", "init", "kernel=program"]
    assert stand_ins.run(tmp_path, *actions, own_profiler=own_profiler) == 0
    records = read_kernel_records(tmp_path)
    by_process: dict[int, list[set[str]]] = {}
    for record in records:
        by_process.setdefault(record.pid, []).append(record.kernels)
    (parent,) = {record.parent_pid for record in records} - {record.pid for record in records}
    assert parent == os.getpid()
    assert sorted(map(sorted, [k for each in by_process.values() for k in each])) == [
        ["after"], ["after", "before"], ["program"], ["program"],
    ]  # fmt: skip
    assert by_name(read_kernel_trace(tmp_path).modules).processes == sorted(by_process)


def test_a_fork_before_the_driver_is_initialised(stand_ins: StandIns, tmp_path: Path) -> None:
    assert stand_ins.run(tmp_path, "fork", "init", "kernel=each") == 0
    records = read_kernel_records(tmp_path)
    assert len({record.pid for record in records}) == 2
    assert all(record.kernels == {"each"} and record.gpus for record in records)


def test_a_program_that_closes_all_files(stand_ins: StandIns, tmp_path: Path) -> None:
    stand_ins.run(tmp_path, "init", "kernel=before", "close_files", "kernel=after")
    assert by_name(read_kernel_trace(tmp_path).modules).kernels == ["after", "before"]


def test_names_of_any_bytes(stand_ins: StandIns, tmp_path: Path) -> None:
    name = "a b%20c\n\tmodule \x7f é"
    stand_ins.run(tmp_path, "init", f"kernel={name}")
    assert by_name(read_kernel_trace(tmp_path).modules).kernels == [name]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"STAND_IN_PROFILER": "1"}, "another profiler of this process uses CUPTI already"),
        ({"TRIMTAB_CUPTI": "/nonexistent/libcupti.so"}, "CUPTI cannot be loaded: /nonexistent"),
        ({"TRIMTAB_CUPTI": "libc.so.6"}, "not a CUPTI library: libc.so.6"),
        ({"STAND_IN_NEWEST_ID": "700"}, "CUPTI does not know a call that is to be watched"),
    ],
)
def test_what_cannot_be_watched_is_not_called_traced(
    stand_ins: StandIns, tmp_path: Path, variables: dict[str, str], reason: str
) -> None:
    assert stand_ins.run(tmp_path, "init", "kernel=unseen", environment=variables) == 0
    trace = read_kernel_trace(tmp_path)
    assert not trace.traced
    assert reason in trace.not_traced_because
    assert "/program): " in trace.not_traced_because


def test_a_full_disk_makes_the_trace_incomplete(stand_ins: StandIns, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: the last event does not fit."""
    large = module_file(tmp_path / "large.o", *[f"kernel_{i:040}" for i in range(200)])
    limit = ("sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "sh")
    actions = ["init", "kernel=known", f"load={large}", "kernel=afterwards"]
    assert stand_ins.run(tmp_path / "record", *actions, prefix=limit) == 0
    trace = read_kernel_trace(tmp_path / "record")
    assert by_name(trace.modules).kernels == ["known"]
    (problem,) = trace.incomplete_because
    assert "could not be written down" in problem


def test_a_program_that_uses_no_gpu(stand_ins: StandIns, tmp_path: Path) -> None:
    assert stand_ins.run(tmp_path) == 0
    trace = read_kernel_trace(tmp_path)
    assert (trace.traced, trace.modules, trace.gpus) == (True, [], [])


def test_without_a_gpu_nothing_changes_and_the_record_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> int:
        raise NoGpuError("there is no device /dev/nvidia0")

    monkeypatch.setattr(kernels, "cuda_major", none)
    given = {"LD_PRELOAD": "mine.so"}
    assert kernel_tracing_environment(given, tmp_path / "r", tmp_path / "bin/python") == given
    trace = read_kernel_trace(tmp_path / "r")
    assert not trace.traced
    assert trace.not_traced_because == (
        "this machine has no NVIDIA GPU: there is no device /dev/nvidia0"
    )


def test_this_machine_has_a_driver_or_says_what_is_missing() -> None:
    try:
        assert cuda_major() >= 11
    except NoGpuError as error:
        assert "libcuda.so.1" in str(error) or "/dev/nvidia0" in str(error)


def environment_of(
    python: Path, record: Path, monkeypatch: pytest.MonkeyPatch, **given: str
) -> dict[str, str]:
    monkeypatch.setattr(kernels, "cuda_major", lambda: 13)
    monkeypatch.setattr(
        kernels, "find_cupti", lambda python, major: find_cupti(python, major, record)
    )
    return kernel_tracing_environment(given, record, python)


def test_modules_load_lazily_whatever_the_workload_asks_for(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = stand_ins.folder / "bin/python"
    found = environment_of(python, tmp_path, monkeypatch, CUDA_MODULE_LOADING="EAGER")
    assert found["CUDA_MODULE_LOADING"] == "LAZY"
    assert found["CUDA_INJECTION64_PATH"].endswith("libtrimtab-kernels.so")
    assert "LD_PRELOAD" not in found


def test_the_interposer_serves_where_cupti_is_taken_or_absent(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, other = stand_ins.folder / "bin/python", "/opt/tool.so"
    taken = environment_of(
        python, tmp_path / "a", monkeypatch, CUDA_INJECTION64_PATH=other, LD_PRELOAD="mine.so"
    )
    assert taken["CUDA_INJECTION64_PATH"] == other
    first, second = taken["LD_PRELOAD"].split(":")
    assert (Path(first).resolve().name, second) == ("libtrimtab-driver.so", "mine.so")
    absent = environment_of(tmp_path / "bin/python", tmp_path / "b", monkeypatch)
    assert Path(absent["LD_PRELOAD"]).resolve().name == "libtrimtab-driver.so"
    assert "CUDA_INJECTION64_PATH" not in absent


def test_the_newest_cupti_that_the_driver_serves(tmp_path: Path) -> None:
    packages = tmp_path / "env/lib/python3.12/site-packages"
    toolkit = tmp_path / "usr/cuda-13.0/extras/CUPTI/lib64"
    for path in (
        packages / "nvidia/cuda_cupti/lib/libcupti.so.12",
        packages / "nvidia/cu13/lib/libcupti.so.13",
        packages / "nvidia/cu14/lib/libcupti.so.14",
        toolkit / "libcupti.so.13",
        toolkit / "libcupti.so.2025.3.0",
        tmp_path / "usr/cuda-11.8/lib64/libcupti.so.11",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def find(environment: str, major: int) -> str:
        python = tmp_path / environment / "bin/python"
        return str(find_cupti(python, major, tmp_path / "usr")).removeprefix(f"{tmp_path}/")

    inside = "env/lib/python3.12/site-packages/nvidia"
    assert find("env", 13) == f"{inside}/cu13/lib/libcupti.so.13"
    assert find("env", 12) == f"{inside}/cuda_cupti/lib/libcupti.so.12"
    assert find("other", 13) == "usr/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13"
    assert find("other", 12) == "usr/cuda-11.8/lib64/libcupti.so.11"
    assert find("other", 10) == "None"
