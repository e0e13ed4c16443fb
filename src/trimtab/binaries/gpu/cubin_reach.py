"""The sections of a cubin that its used kernels can reach, by calls and addresses."""

from collections.abc import Iterable

import numpy as np

from trimtab.binaries.elf.tables import RELOCATION
from trimtab.binaries.gpu.cubin import Cubin, CubinError

_REL, _RELA = 9, 4
_RELOCATION = {
    _REL: np.dtype([("slot", "<u8"), ("type", "<u4"), ("symbol", "<u4")]),
    _RELA: RELOCATION,
}
_CALL_GRAPH = 0x70000001  # SHT_CUDA_CALLGRAPH
_MOST_CALL_GRAPH_BYTES = 8 << 20  # a million pairs; 2,583 are the most in CUDA's libraries
# The call graph is pairs of symbols in four lists, which (0, -1) to (0, -4) begin.
_CALLS, _ADDRESS_TAKEN, _INDIRECT_CALLERS, _TAKES_ADDRESS = -1, -2, -3, -4


def reachable_sections(cubin: Cubin, kernels: Iterable[str]) -> set[int]:
    """Return the indices of the sections that must stay for `kernels` to run.

    All sections stay except code (`.text.*`) that these kernels reach neither by a call nor by a
    relocation. Everything stays if code is called through pointers, or without a call graph. Raises
    CubinError for an unknown kernel and for damaged tables.
    """
    everything = set(range(len(cubin.sections)))
    code = {i for i, name in enumerate(cubin.section_names) if name.startswith(".text")}
    wanted = list(kernels)
    for kernel in wanted:
        if kernel not in cubin.kernel_sections:
            raise CubinError(f"has no kernel {kernel}")
    edges = _edges(cubin, code)
    if edges is None:
        return everything
    reached: set[int] = set()
    waiting = [cubin.kernel_sections[kernel] for kernel in wanted]
    while waiting:
        section = waiting.pop()
        if section not in reached:
            reached.add(section)
            waiting += edges.get(section, ())
    return everything - (code - reached)


def _edges(cubin: Cubin, code: set[int]) -> dict[int, set[int]] | None:
    """Return the code sections that each code section leads to, or None for calls by pointer."""
    edges: dict[int, set[int]] = {}
    symbol_sections = cubin.symbols["section"]
    has_call_graph = False
    for index, row in enumerate(cubin.sections):
        kind = int(row["type"])
        if kind == _CALL_GRAPH:
            has_call_graph = True
            if int(row["size"]) > _MOST_CALL_GRAPH_BYTES:
                raise CubinError(f"has a call graph of {int(row['size'])} bytes")
            pairs = np.frombuffer(cubin.content(index)[: int(row["size"]) & ~7], "<i4")
            calls = _direct_calls(pairs.reshape(-1, 2).tolist())
            if calls is None:
                return None
            if any(symbol >= len(symbol_sections) for pair in calls for symbol in pair):
                raise CubinError("has a call graph that names symbols past its symbol table")
            for caller, callee in calls:
                source, target = int(symbol_sections[caller]), int(symbol_sections[callee])
                edges.setdefault(source, set()).add(target)
        elif kind in _RELOCATION and not _is_description(cubin, int(row["info"])):
            layout = _RELOCATION[kind]
            content = cubin.content(index)
            rows = np.frombuffer(content, layout, len(content) // layout.itemsize)
            if (rows["symbol"] >= len(symbol_sections)).any():
                raise CubinError("has a relocation by a symbol past its symbol table")
            targets = set(symbol_sections[rows["symbol"]].tolist()) & code
            source = int(row["info"])
            if targets and source not in code:
                return None  # data holds a function's address
            edges.setdefault(source, set()).update(targets)
    return edges if has_call_graph else None


def _direct_calls(pairs: list[list[int]]) -> list[tuple[int, int]] | None:
    calls = []
    part = 0
    for caller, callee in pairs:
        if caller == 0 and callee < 0:
            part = callee
        elif part not in (_CALLS, _TAKES_ADDRESS):
            return None
        elif caller < 0 or callee < 0:
            raise CubinError("has a call graph of no known form")
        else:
            calls.append((caller, callee))
    return calls


def _is_description(cubin: Cubin, section: int) -> bool:
    """Whether a section describes code to debuggers, so its addresses are never called."""
    if section >= len(cubin.sections):
        raise CubinError("has relocations of a section that it does not have")
    return cubin.section_names[section].startswith((".debug", ".nv_debug"))
