import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cuda_sources import (
    CALLS,
    EXTERNAL,
    GLOBALS_ONLY,
    KERNELS,
    POINTERS,
    cubin,
    cubin_of_cuda_12,
    listed_symbols,
    needs_cuda_tools,
    run,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.binaries.gpu.cubin import Cubin, CubinError, read_cubin
from trimtab.binaries.gpu.cubin_reach import reachable_sections

pytestmark = needs_cuda_tools
Compiled = Callable[..., bytes]
Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Returns the cubin compiled from a source for an architecture, with flags."""
    folder = tmp_path_factory.mktemp("cubins")

    @cache
    def compile_once(source: str, architecture: str, *flags: str) -> bytes:
        return cubin(folder / "compiled.cubin", source, architecture, *flags)

    return compile_once


@pytest.fixture(scope="module")
def linked(compiled: Compiled, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two relocatable cubins linked by NVIDIA's linker: one function of each stays a section."""
    folder = tmp_path_factory.mktemp("linked")
    for name, source in (("calls", CALLS), ("external", EXTERNAL)):
        (folder / f"{name}.cubin").write_bytes(compiled(source, "sm_80", "-rdc=true"))
    inputs = [str(folder / f"{name}.cubin") for name in ("calls", "external")]
    run("nvlink", "-arch=sm_80", *inputs, "-o", str(folder / "linked.cubin"))
    return (folder / "linked.cubin").read_bytes()


def whole(data: bytes) -> bytes:
    return data


def without_relocations(data: bytes) -> bytes:
    """Make plain data of the relocations, so that the call graph alone tells of calls."""
    changed = bytearray(data)
    table = int.from_bytes(data[40:48], "little")
    for number, row in enumerate(read_cubin(data).sections):
        if row["type"] in (4, 9):
            struct.pack_into("<I", changed, table + 64 * number + 4, 1)
    return bytes(changed)


def without_call_graph(data: bytes) -> bytes:
    """Empty the lists of the call graph, so that relocations alone tell of calls."""
    changed = bytearray(data)
    read = read_cubin(data)
    row = read.sections[read.section_names.index(".nv.callgraph")]
    start = int(row["offset"])
    for at in range(start, start + int(row["size"]), 8):
        struct.pack_into("<ii", changed, at, 0, -1)
    return bytes(changed)


def check_symbols(data: bytes, folder: Path) -> Cubin:
    """Names equal those that cuobjdump lists, by type."""
    (folder / "checked.cubin").write_bytes(data)
    symbols = listed_symbols(folder / "checked.cubin")
    read = read_cubin(data)
    functions = [s for s in symbols if s[0] == "FUNC" and s[2]]
    variables = [s for s in symbols if s[0] in ("OBJECT", "CUDA_OBJECT") and s[2]]
    assert sorted(read.kernels) == sorted(s[3] for s in functions if s[1] == "ENTRY")
    # Parameters of kernels and the compiler's own strings are no variables of the program's.
    names = [s[3] for s in variables if s[3] != "_param" and not s[3].startswith("$")]
    assert sorted(read.globals) == sorted(names)
    return read


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90a", "sm_120a"])
def test_names_match_the_oracle_of_cuda_13(
    architecture: str, compiled: Compiled, tmp_path: Path
) -> None:
    read = check_symbols(compiled(KERNELS, architecture), tmp_path)
    assert str(read.architecture) == architecture
    assert sorted(read.kernels) == ["_Z3addIdEvPT_S0_", "_Z3addIiEvPT_S0_", "_Z5primePi", "scale"]
    assert sorted(read.globals) == ["counter", "first_primes", "table"]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100", "sm_121a"])
def test_names_match_the_oracle_of_cuda_12(architecture: str, tmp_path: Path) -> None:
    read = check_symbols(cubin_of_cuda_12(tmp_path, architecture), tmp_path)
    assert str(read.architecture) == architecture
    assert len(read.kernels) == 4


def test_debug_and_relocatable_names_match_the_oracle(compiled: Compiled, tmp_path: Path) -> None:
    check_symbols(compiled(KERNELS, "sm_80", "-G"), tmp_path)
    check_symbols(compiled(KERNELS, "sm_80", "-rdc=true"), tmp_path)


def test_a_cubin_may_hold_globals_alone(compiled: Compiled) -> None:
    read = read_cubin(compiled(GLOBALS_ONLY, "sm_80"))
    assert read.kernels == ()
    assert sorted(read.globals) == ["counter", "table"]


@pytest.mark.parametrize(
    ("kernels", "functions"),
    [
        (["_Z13calls_nothingPf"], []),
        (["_Z9calls_onePf"], ["_Z3onef"]),
        (["_Z9calls_twoPf"], ["_Z3onef", "_Z3twof"]),
        (["_Z14calls_externalPf"], ["_Z8externalf"]),
        (["_Z9calls_onePf", "_Z14calls_externalPf"], ["_Z3onef", "_Z8externalf"]),
        ([], []),
    ],
)
@pytest.mark.parametrize("change", [whole, without_relocations, without_call_graph])
def test_called_functions_are_reached(
    linked: bytes, change: Change, kernels: list[str], functions: list[str]
) -> None:
    read = read_cubin(change(linked))
    kept = reachable_sections(read, kernels)
    code = {name for name in read.section_names if name.startswith(".text.")}
    assert len(code) == 7
    kept_names = {read.section_names[section] for section in kept}
    assert kept_names & code == {f".text.{name}" for name in kernels + functions}
    assert kept_names - code == set(read.section_names) - code


def test_debug_code_reaches_its_functions(compiled: Compiled) -> None:
    read = read_cubin(compiled(KERNELS, "sm_80", "-G"))
    code = {
        read.section_names[section]
        for section in reachable_sections(read, ["scale"])
        if read.section_names[section].startswith(".text.")
    }
    assert code == {".text.scale", ".text._Z6helperf"}


@pytest.mark.parametrize("change", [whole, without_relocations, without_call_graph])
def test_calls_through_pointers_keep_everything(compiled: Compiled, change: Change) -> None:
    read = read_cubin(change(compiled(POINTERS, "sm_80", "-rdc=true")))
    everything = set(range(len(read.section_names)))
    assert reachable_sections(read, ["_Z13calls_nothingPf"]) == everything


def test_a_cubin_without_a_call_graph_keeps_everything(linked: bytes) -> None:
    read = read_cubin(linked.replace((0x70000001).to_bytes(4, "little"), b"\1\0\0\0"))
    everything = set(range(len(read.section_names)))
    assert reachable_sections(read, ["_Z13calls_nothingPf"]) == everything


def test_an_unknown_kernel_is_an_error(linked: bytes) -> None:
    with pytest.raises(CubinError, match="has no kernel absent"):
        reachable_sections(read_cubin(linked), ["absent"])


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), bytes(64)])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(CubinError):
        read_cubin(data)


def test_overlapping_names_are_refused(linked: bytes) -> None:
    """A symbol table whose every name is the same long one would take memory without bound."""
    read = read_cubin(linked)
    table = next(s for s in read.sections if s["type"] == 2)
    start, size = int(table["offset"]), int(table["size"])
    strings = bytearray(linked)
    names = read.sections[int(table["link"])]
    first, length = int(names["offset"]), int(names["size"])
    strings[first : first + length] = b"x" * (length - 1) + b"\0"
    for row in range(start, start + size, 24):
        strings[row : row + 8] = bytes((0, 0, 0, 0, 2, 0x10, 1, 0))
    with pytest.raises(CubinError, match="names that overlap"):
        read_cubin(bytes(strings))


@settings(max_examples=150)
@given(seed=st.integers(0, 1 << 32), flips=st.integers(1, 40), cut=st.floats(0, 1))
def test_damaged_cubins_raise_nothing_else(
    linked: bytes, seed: int, flips: int, cut: float
) -> None:
    chance = random.Random(seed)
    damaged = bytearray(linked)
    header_table = int.from_bytes(linked[40:48], "little")
    for _ in range(flips):
        # Half of the flips go where the tables are.
        at = chance.randrange(len(linked))
        if chance.random() < 0.5:
            at = chance.choice([chance.randrange(64), header_table + chance.randrange(64 * 30)])
        damaged[at] ^= 1 << chance.randrange(8)
    if cut < 0.3:
        del damaged[int(len(linked) * cut / 0.3) :]
    try:
        read = read_cubin(bytes(damaged))
        kept = reachable_sections(read, read.kernels[:1])
    except CubinError:
        return
    assert kept <= set(range(len(read.section_names)))
