"""`spans/{library}.json`: the kept and removed bytes of a library, with reasons."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import FailFast, Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, AbsolutePath, BuildId, Digest, PathInside, Text, Whole

Row = tuple[Whole, Whole, Whole]  # start, end, index in `reasons`
# With what is added (`.removed`, a temporary's letters) it stays below the 255 bytes of a name.
_LONGEST_BYTES = 200
_READABLE_BYTES = 64
_OTHER = re.compile(rb"[^A-Za-z0-9._+-]")


@dataclass(frozen=True, config=PART)
class SpanReasonText:
    """Why bytes stay or go, in words."""

    name: Text
    kept: bool


@dataclass(frozen=True, config=PART)
class GpuCodeSpans:
    """The elements of a library's GPU code: [offset, end, index in `reasons`], by rising offset.

    `kernels` are the used ones; `pruned_elements` elements lost unused kernels. `placed` has the
    new place of each element that its region still lists: [offset, new offset]. `unused_kernels`
    names a kernel of each removed element, by its offset.
    """

    reasons: list[SpanReasonText]
    elements_by_reason: dict[Text, Whole]
    bytes_by_reason: dict[Text, Whole]
    kernels: list[Text]
    elements: Annotated[list[Row], FailFast()]
    pruned_elements: Whole
    placed: Annotated[list[tuple[Whole, Whole]], FailFast()] = Field(default_factory=list)
    unused_kernels: dict[Whole, Text] = Field(default_factory=dict)

    @property
    def kept(self) -> frozenset[int]:
        """The offsets of the elements that stay."""
        return frozenset(start for start, _, reason in self.elements if self.reasons[reason].kept)


class LibrarySpans(Document):
    """The spans of the library at `library`; `name` is its path in its environment,
    `sha256` of its file.

    `spans` tile the file of `size_bytes`: [start, end, index in `reasons`]; whole pages are removed
    in runs of at least `minimum_hole_bytes`. `note` says why all code is kept, if it is, and
    `gpu_note` why all GPU code is. A library that is not `started` has lost all code. `gpu_code` is
    None if there were no decisions.
    """

    stage: ClassVar[str] = "debloat"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[3] = 3
    library: AbsolutePath
    name: PathInside
    build_id: BuildId | None
    sha256: Digest
    note: Text = ""
    gpu_note: Text = ""
    started: bool = True
    size_bytes: Whole
    minimum_hole_bytes: AboveZero
    kept_bytes: Whole
    removed_bytes: Whole
    bytes_by_reason: dict[Text, Whole]
    reasons: list[SpanReasonText]
    spans: Annotated[list[Row], FailFast()] = Field(min_length=1)
    gpu_code: GpuCodeSpans | None = None

    def to_text(self) -> str:
        """Return it with a key a line: indenting hundreds of thousands of rows takes seconds."""
        rows = ((json.dumps(key), value) for key, value in sorted(self.to_json().items()))
        lines = (f" {key}: {json.dumps(value, sort_keys=True)}" for key, value in rows)
        return "{\n" + ",\n".join(lines) + "\n}\n"

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
            _check_elements(gpu, self.size_bytes)
        return self


def _check_elements(gpu: GpuCodeSpans, size_bytes: int) -> None:
    covered = 0
    for start, end, _ in gpu.elements:
        if start < covered or end <= start:
            raise ValueError(f"gpu_code.elements: [{start}, {end}) begins before byte {covered}")
        covered = end
    if covered > size_bytes:
        raise ValueError(f"gpu_code.elements: they end at {covered}, behind the file's end")
    starts = {start for start, _, _ in gpu.elements}
    for key, offsets in (
        ("placed", {old for old, _ in gpu.placed}),
        ("unused_kernels", gpu.unused_kernels.keys()),
    ):
        if strange := offsets - starts:
            raise ValueError(f"gpu_code.{key}: no element begins at {min(strange)}")
    if any(new > old for old, new in gpu.placed):
        raise ValueError("gpu_code.placed: an element was moved towards the file's end")
    counted = Counter(gpu.reasons[reason].name for _, _, reason in gpu.elements)
    if counted != Counter(gpu.elements_by_reason) or gpu.pruned_elements > len(gpu.elements):
        raise ValueError("gpu_code.elements_by_reason: not what the elements add up to")


def spans_file(folder: Path, name: str) -> Path:
    """Return the path of the spans of the library `name`: one file a library in one folder."""
    return folder / f"{flat_name(name)}.json"


def _check_totals(
    key: str, rows: Iterable[Row], reasons: list[SpanReasonText], bytes_by_reason: dict[str, int]
) -> None:
    bytes_of = [0] * len(reasons)
    for start, end, reason in rows:
        if reason >= len(reasons):
            raise ValueError(f"{key}: reason {reason} is none of the {len(reasons)} in reasons")
        bytes_of[reason] += end - start
    names = [reason.name for reason in reasons]
    if dict(zip(names, bytes_of, strict=True)) != bytes_by_reason:
        raise ValueError(f"bytes_by_reason: not what the {key} add up to")


def flat_name(name: str) -> str:
    """Return `name`, a relative path without empty parts, with `/` written as `__`.

    Where another path would give the same, or a name of more than 200 bytes, it is the end of
    `name`, four underscores (which the first way never gives) and half of its SHA-256.
    `native/fallback/flat_name.c` has the same rule.
    """
    path = os.fsencode(name)
    flat = path.replace(b"/", b"__")
    if flat.replace(b"__", b"/") != path or len(flat) > _LONGEST_BYTES:
        digest = hashlib.sha256(path).hexdigest()[:32]
        flat = _OTHER.sub(b"_", path[-_READABLE_BYTES:]) + b"____" + digest.encode()
    return os.fsdecode(flat)
