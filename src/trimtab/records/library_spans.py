"""`spans/{library}.json`: what of a library is kept and removed, to the byte, and why."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.flat_name import flat_name

Row = tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt]  # start, end, place in `reasons`


@dataclass(frozen=True, config=PART)
class Reason:
    """Why bytes stay or go, in words."""

    name: str
    kept: bool


@dataclass(frozen=True, config=PART)
class GpuCodeSpans:
    """The elements of a library's GPU code: [offset, end, place in `reasons`], by rising offset.

    `kernels` are the used ones; of `pruned_elements` elements unused kernels went within. `placed`
    says where each element begins that its region still lists: [offset, new offset];
    `unused_kernels` names a kernel of each removed element, by its offset.
    """

    reasons: list[Reason]
    elements_by_reason: dict[str, int]
    bytes_by_reason: dict[str, int]
    kernels: list[str]
    elements: list[Row]
    pruned_elements: int
    placed: list[tuple[NonNegativeInt, NonNegativeInt]] = Field(default_factory=list)
    unused_kernels: dict[int, str] = Field(default_factory=dict)

    @property
    def kept(self) -> frozenset[int]:
        """The offsets of the elements that stay."""
        return frozenset(start for start, _, reason in self.elements if self.reasons[reason].kept)


class LibrarySpans(Document):
    """The spans of the library at `library`; `name` is its path in its environment.

    `spans` tile the file of `size_bytes`: [start, end, place in `reasons`]; whole pages leave it in
    runs of at least `minimum_hole_bytes`. `note` says why code is
    kept whole, if it is. A library that is not `started` has lost all its code. `gpu_code` is there
    where any was decided on.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[2] = 2
    library: str
    name: str
    build_id: str | None
    note: str = ""
    started: bool = True
    size_bytes: int
    minimum_hole_bytes: int
    kept_bytes: int
    removed_bytes: int
    bytes_by_reason: dict[str, int]
    reasons: list[Reason]
    spans: list[Row] = Field(min_length=1)
    gpu_code: GpuCodeSpans | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        covered = 0
        for start, end, _ in self.spans:
            if start != covered or end <= start:
                raise ValueError(f"spans: [{start}, {end}) does not follow on byte {covered}")
            covered = end
        if covered != self.size_bytes:
            raise ValueError(f"spans: they end at {covered}, the file at {self.size_bytes} bytes")
        _check_totals("spans", self.spans, self.reasons, self.bytes_by_reason)
        kept = sum(self.bytes_by_reason[reason.name] for reason in self.reasons if reason.kept)
        if (self.kept_bytes, self.removed_bytes) != (kept, self.size_bytes - kept):
            raise ValueError("kept_bytes, removed_bytes: not what the spans add up to")
        if self.gpu_code is not None:
            gpu = self.gpu_code
            _check_totals("gpu_code.elements", gpu.elements, gpu.reasons, gpu.bytes_by_reason)
        return self


def spans_file(folder: Path, name: str) -> Path:
    """Return where the spans of the library `name` are written: one flat file a library."""
    return folder / f"{flat_name(name)}.json"


def _check_totals(
    key: str, rows: Iterable[Row], reasons: list[Reason], bytes_by_reason: dict[str, int]
) -> None:
    bytes_of = [0] * len(reasons)
    for start, end, reason in rows:
        if reason >= len(reasons):
            raise ValueError(f"{key}: reason {reason} is none of the {len(reasons)} in reasons")
        bytes_of[reason] += end - start
    names = [reason.name for reason in reasons]
    if dict(zip(names, bytes_of, strict=True)) != bytes_by_reason:
        raise ValueError(f"bytes_by_reason: not what the {key} add up to")
