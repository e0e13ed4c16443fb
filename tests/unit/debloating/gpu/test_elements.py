"""Decisions over small cubins that are laid out here: the header, names and symbols, no code."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from fatbin_parts import cubin

from trimtab.binaries.gpu.architecture import Architecture, parse_architecture
from trimtab.binaries.gpu.fatbin import CubinFrame, Element, ElementKind, FatbinRegion, GpuCode
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.debloating.gpu.elements import Decisions, ElementReason, UsedGpuCode, decide
from trimtab.debloating.gpu.gpu_code import LocatedGpuCode
from trimtab.debloating.span_document import document_of
from trimtab.records.usage import UsedModule
from trimtab.zstd import zstd


def ptx(*entries: str) -> bytes:
    text = "".join(f".visible .entry {name}(\n)\n{{ ret; }}\n" for name in entries)
    return f".version 8.0\n.target sm_80\n{text}".encode()


@dataclass(frozen=True)
class Piece:
    """What a test puts into a region: a program for an architecture."""

    architecture: str
    program: bytes
    kind: ElementKind = ElementKind.ELF


def elf(architecture: str, kernels: str = "", variables: str = "", salt: str = "") -> Piece:
    return Piece(architecture, cubin(architecture, kernels, variables, salt))


def text(architecture: str, *entries: str) -> Piece:
    return Piece(architecture, ptx(*entries), ElementKind.PTX)


def lto(architecture: str) -> Piece:
    return Piece(architecture, b"scrambled", ElementKind.LTO_IR)


def laid_out(*regions: list[Piece]) -> tuple[np.ndarray, GpuCode]:
    data, found = b"", []
    for pieces in regions:
        start, elements = len(data), []
        data += bytes(16)
        for piece in pieces:
            elements.append(
                Element(
                    offset=len(data),
                    header_bytes=64,
                    payload_bytes=len(piece.program),
                    stored_bytes=len(piece.program),
                    uncompressed_bytes=len(piece.program),
                    kind=piece.kind,
                    architecture=parse_architecture(piece.architecture),
                    compression="none",
                    flags=0,
                )
            )
            data += bytes(64) + piece.program
        found.append(FatbinRegion(start, tuple(elements)))
    return np.frombuffer(data, np.uint8), GpuCode(tuple(found), ())


def module(piece: Piece, *kernels: str, enumerated: bool = False) -> UsedModule:
    """The record of a module that was loaded from this piece."""
    digest = hashlib.sha256(piece.program).hexdigest()
    return UsedModule(digest, len(piece.program), list(kernels), [], enumerated, [1])


def by_name(*kernels: str) -> UsedModule:
    return UsedModule("", 0, list(kernels), [], False, [1])


def reasons(decisions: Decisions) -> list[ElementReason]:
    return [ElementReason(code) for code in decisions.reason.tolist()]


def decided(
    regions: list[list[Piece]], gpus: list[int], use: UsedGpuCode | None = None
) -> list[ElementReason]:
    data, code = laid_out(*regions)
    return reasons(decide(data, code, gpus, use))


ARCHITECTURE, UNUSED, PTX, USED = (
    ElementReason.ARCHITECTURE,
    ElementReason.UNUSED,
    ElementReason.PTX,
    ElementReason.USED,
)
FITS = ElementReason.FITS

WITHOUT_A_TRACE = {
    "the closest cubin": (["sm_80", "sm_86", "sm_90"], [89], [ARCHITECTURE, FITS, ARCHITECTURE]),
    "two GPUs": (["sm_80", "sm_86", "sm_90"], [80, 90], [FITS, ARCHITECTURE, FITS]),
    "both variants": (["sm_90", "sm_90a"], [90], [FITS, FITS]),
    "a later GPU of the family": (["sm_100a", "sm_100f"], [103], [ARCHITECTURE, FITS]),
    "no cubin fits": (["sm_80", "ptx_75", "ptx_80"], [90], [ARCHITECTURE, PTX, FITS]),
    "a cubin fits": (["sm_90", "ptx_80"], [90], [FITS, PTX]),
    "a cubin fits one GPU": (["sm_90", "ptx_80"], [90, 100], [FITS, FITS]),
    "the PTX is too new": (["sm_75", "ptx_100"], [90], [ARCHITECTURE, ARCHITECTURE]),
    "debug code of the same GPU": (["sm_90", "sm_90"], [90], [FITS, FITS]),
}


@pytest.mark.parametrize(
    ("region", "gpus", "expected"), WITHOUT_A_TRACE.values(), ids=list(WITHOUT_A_TRACE)
)
def test_without_a_trace_what_a_gpu_can_get_is_kept(
    region: list[str], gpus: list[int], expected: list[ElementReason]
) -> None:
    pieces = [
        text("sm_" + name.removeprefix("ptx_"), "k") if name.startswith("ptx") else elf(name, "k")
        for name in region
    ]
    assert decided([pieces], gpus) == expected


def test_on_the_traced_gpu_what_was_loaded_is_used() -> None:
    used, other = elf("sm_90", "a b"), elf("sm_90", "a c")
    use = UsedGpuCode.of([module(used, "a")], [90])
    data, code = laid_out([elf("sm_80", "a b"), used], [elf("sm_80", "a c"), other])
    decisions = decide(data, code, [90], use)
    assert reasons(decisions) == [ARCHITECTURE, USED, ARCHITECTURE, UNUSED]
    kept = code.regions[0].elements[1].offset
    assert decisions.kept == {kept}
    assert decisions.used_kernels == {kept: frozenset({"a"})}
    assert decisions.kernels == {"a"}
    assert decisions.modules == set(use.modules)


def test_every_copy_of_a_loaded_module_is_kept() -> None:
    used = elf("sm_90", "a")
    assert decided([[used], [used]], [90], UsedGpuCode.of([module(used)], [90])) == [USED, USED]


def test_a_module_of_the_same_size_but_other_bytes_is_not_used() -> None:
    loaded, other = elf("sm_90", "a", salt="1"), elf("sm_90", "a", salt="2")
    assert len(loaded.program) == len(other.program)
    use = UsedGpuCode.of([module(loaded, "a")], [90])
    assert decided([[loaded], [other]], [90], use) == [USED, UNUSED]


def test_a_name_without_a_module_keeps_all_code_that_has_it() -> None:
    use = UsedGpuCode.of([by_name("a")], [90])
    regions = [[elf("sm_80", "a"), elf("sm_90", "a b")], [elf("sm_90", "c")], [elf("sm_90", "a")]]
    assert decided(regions, [90], use) == [ARCHITECTURE, USED, UNUSED, USED]


def test_enumerated_modules_say_so_whatever_else_is_known_of_them() -> None:
    used = elf("sm_90", "a b")
    use = UsedGpuCode.of([module(used, enumerated=True), module(used, "a"), by_name("b")], [90])
    data, code = laid_out([used])
    decisions = decide(data, code, [90], use)
    assert reasons(decisions) == [ElementReason.ENUMERATED]
    assert decisions.kernels == {"a", "b"}


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (elf("sm_90", variables="table"), ElementReason.GLOBALS),
        (elf("sm_90"), ElementReason.NO_KERNELS),
        (elf("sm_90", "a", "table"), ElementReason.UNUSED),
        (Piece("sm_90", b"\x7fELF, but no cubin"), ElementReason.UNREADABLE),
        (elf("sm_80", variables="table"), ElementReason.ARCHITECTURE),
    ],
)
def test_code_without_kernels_is_kept_where_it_fits(piece: Piece, expected: ElementReason) -> None:
    assert decided([[piece]], [90], UsedGpuCode.of([], [90])) == [expected]
    assert expected.kept == (expected not in (ElementReason.UNUSED, ElementReason.ARCHITECTURE))


class TestAGpuThatWasNotTracedOn:
    traced = elf("sm_90", "a b")

    def use(self, *kernels: str, enumerated: bool = False) -> UsedGpuCode:
        return UsedGpuCode.of([module(self.traced, *kernels, enumerated=enumerated)], [90])

    def test_the_counterpart_of_a_loaded_module_is_kept(self) -> None:
        region = [elf("sm_80", "a b"), elf("sm_86", "a b"), self.traced]
        assert decided([region], [86], self.use("a")) == [ARCHITECTURE, USED, ARCHITECTURE]
        # Also where only a variable of it was used.
        assert decided([region], [86], self.use()) == [ARCHITECTURE, USED, ARCHITECTURE]

    def test_a_kernel_that_was_looked_up_is_used_wherever_it_is(self) -> None:
        regions = [[self.traced], [elf("sm_80", "a")], [elf("sm_80", "z")]]
        assert decided(regions, [80], self.use("a")) == [ARCHITECTURE, USED, UNUSED]

    def test_enumerated_means_any_kernel_of_the_counterpart(self) -> None:
        region = [elf("sm_80", "a b"), self.traced]
        use = self.use(enumerated=True)
        assert decided([region], [80], use) == [ElementReason.ENUMERATED, ARCHITECTURE]

    def test_the_traced_gpu_keeps_by_digest_beside_it(self) -> None:
        regions = [[elf("sm_80", "a"), self.traced], [elf("sm_80", "a"), elf("sm_90", "a")]]
        assert decided(regions, [80, 90], self.use("a")) == [USED, USED, USED, UNUSED]

    def test_ptx_takes_the_place_of_a_missing_cubin(self) -> None:
        region = [self.traced, text("sm_80", "a", "b")]
        assert decided([region], [100], self.use("a")) == [ARCHITECTURE, USED]
        assert decided([region], [90], self.use("a")) == [USED, PTX]


def test_ptx_is_kept_on_the_traced_gpu_where_no_cubin_fits_and_a_name_of_it_was_used() -> None:
    compiled = UsedModule("c" * 64, 12345, ["a"], [], False, [1])  # by the driver, in no library
    use = UsedGpuCode.of([compiled], [90])
    regions = [
        [elf("sm_80", "a"), text("sm_75", "a"), text("sm_80", "a")],
        [text("sm_80", "z")],
        [elf("sm_90", "z"), text("sm_80", "a")],
    ]
    expected = [ARCHITECTURE, PTX, USED, PTX, UNUSED, PTX]
    assert decided(regions, [90], use) == expected


def test_intermediate_code_is_kept_unless_nothing_was_linked() -> None:
    region = [lto("sm_75"), lto("sm_120"), elf("sm_90", "a")]
    assert decided([region], [90], UsedGpuCode.of([], [90])) == [
        ElementReason.UNREADABLE,
        ARCHITECTURE,
        UNUSED,
    ]
    assert decided([region], [90], UsedGpuCode.of([], [90], linked=False)) == [
        UNUSED,
        ARCHITECTURE,
        UNUSED,
    ]


@pytest.mark.parametrize(("linked", "expected"), [(True, ElementReason.GLOBALS), (False, UNUSED)])
def test_so_is_a_relocatable_cubin_without_kernels(linked: bool, expected: ElementReason) -> None:
    relocatable = Piece("sm_90", cubin("sm_90", variables="table", elf_type=1))
    assert decided([[relocatable]], [90], UsedGpuCode.of([], [90], linked)) == [expected]


def test_a_bare_frame_is_decided_by_itself() -> None:
    compress = zstd.compress
    programs = [cubin("sm_90", "a"), cubin("sm_90", "b"), cubin("sm_80", "a")]
    data, frames = b"", []
    for program, number in zip(programs, (90, 90, 80), strict=True):
        stored = compress(program)
        frames.append(
            CubinFrame(len(data), len(data) + len(stored), len(program), Architecture(number))
        )
        data += stored
    code, array = GpuCode((), tuple(frames)), np.frombuffer(data, np.uint8)
    use = UsedGpuCode.of([module(Piece("sm_90", programs[0]), "a")], [90])
    assert reasons(decide(array, code, [90], use)) == [USED, UNUSED, ARCHITECTURE]
    assert reasons(decide(array, code, [80], use)) == [ARCHITECTURE, ARCHITECTURE, USED]


def test_counts_and_bytes_by_reason_add_up_and_the_document_says_it_all() -> None:
    used = elf("sm_90", "a")
    data, code = laid_out(
        [elf("sm_80", "a"), used, text("sm_80", "a")], [elf("sm_90", "b"), elf("sm_90")]
    )
    decisions = decide(data, code, [90], UsedGpuCode.of([module(used, "a")], [90]))
    elements = [element for region in code.regions for element in region.elements]
    assert sum(map(decisions.count_of, ElementReason)) == len(elements)
    total_bytes = sum(element.end - element.offset for element in elements)
    assert sum(map(decisions.bytes_of, ElementReason)) == total_bytes
    whole = Spans(np.array([data.size]), np.array([SpanReason.DATA], np.uint8))
    gpu = LocatedGpuCode(code, decisions, (), total_bytes, total_bytes)
    document = document_of(Path("/a.so"), "a.so", whole, 8192, sha256="ab" * 32, gpu=gpu).gpu_code
    assert document is not None
    assert document.elements == [
        (element.offset, element.end, reason)
        for element, reason in zip(elements, reasons(decisions), strict=True)
    ]
    assert document.kernels == ["a"]
    named = {reason.name: reason.kept for reason in document.reasons}
    kept = sum(n for name, n in document.elements_by_reason.items() if named[name])
    assert kept == len(decisions.kept) == len(document.kept) == 2


def test_a_library_without_gpu_code_has_nothing_to_decide() -> None:
    decisions = decide(np.zeros(0, np.uint8), GpuCode((), ()), [90], None)
    assert decisions.kept == frozenset() and decisions.offset.size == 0


def test_a_target_is_needed() -> None:
    with pytest.raises(ValueError, match="expected a target GPU"):
        decide(np.zeros(0, np.uint8), GpuCode((), ()), [], None)
