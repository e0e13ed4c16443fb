"""Spans are read only where they tile their file and add up, whatever was done to the document."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.gpu.fatbin import GpuCode
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.debloating.gpu.elements import Decisions, ElementReason
from trimtab.debloating.gpu.gpu_code import LocatedGpuCode
from trimtab.debloating.span_document import document_of, spans_of
from trimtab.errors import TrimtabError
from trimtab.files import write_json
from trimtab.records.library_spans import LibrarySpans, spans_file

LIBRARY = Path("/env/lib/a.so")


@given(
    st.lists(st.tuples(st.integers(1, 1 << 30), st.sampled_from(SpanReason)), min_size=1),
    st.none() | st.text("0123456789abcdef"),
    st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    st.booleans(),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[tuple[int, SpanReason]],
    build_id: str | None,
    note: str,
    started: bool,
) -> None:
    lengths, reasons = zip(*parts, strict=True)
    spans = Spans(np.cumsum(lengths), np.array(reasons, np.uint8), build_id, note)
    path = tmp_path_factory.getbasetemp() / "spans.json"
    document_of(LIBRARY, "lib/a.so", spans, 8192, sha256="ab" * 32, started=started).write(path)
    document = LibrarySpans.read(path)
    again = spans_of(document)
    assert again.end.tolist() == spans.end.tolist()
    assert again.reason.tolist() == spans.reason.tolist()
    assert (again.build_id, again.note, document.started) == (build_id, note, started)
    kept = sum(length for length, reason in parts if reason.kept)
    assert (document.kept_bytes, document.removed_bytes) == (kept, sum(lengths) - kept)


def example() -> dict[str, Any]:
    spans = Spans(np.array([3, 9]), np.array([0, 2], np.uint8), "ab", "")
    codes = np.array([ElementReason.USED, ElementReason.UNUSED], np.uint8)
    decisions = Decisions(
        np.array([1, 5]), np.array([5, 8]), codes, {1: frozenset({"kernel"})}, frozenset()
    )
    gpu = LocatedGpuCode(GpuCode((), ()), decisions, (), 7, 4, 1, {1: 1})
    return document_of(LIBRARY, "lib/a.so", spans, 8192, sha256="ab" * 32, gpu=gpu).to_json()


def test_gpu_code_is_kept_by_its_reason(tmp_path: Path) -> None:
    write_json(tmp_path / "spans.json", example())
    gpu_code = LibrarySpans.read(tmp_path / "spans.json").gpu_code
    assert gpu_code and gpu_code.kept == {1} and gpu_code.kernels == ["kernel"]
    assert gpu_code.bytes_by_reason[ElementReason.UNUSED.text] == 3
    assert gpu_code.elements_by_reason[ElementReason.USED.text] == gpu_code.pruned_elements == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spans": [[0, 3, 0], [4, 9, 2]]}, "does not follow on byte 3"),
        ({"spans": [[0, 3, 0], [3, 3, 2]]}, "does not follow"),
        ({"spans": [[0, 3, 0], [3, 8, 2]]}, "end at 8, the file at 9 bytes"),
        ({"spans": [[0, 3, 0], [3, 9, 200]]}, "reason 200 is none of"),
        ({"spans": [[0, 3, 0], [3, 9, -1]]}, r"spans\[1\]\[2\]"),
        ({"spans": [[0, 3, 0], [3, 2**60, 1]]}, "end at"),
        ({"spans": [[-4, -3, 0], [-3, 9, 1]]}, r"spans\[0\]\[0\]"),
        ({"spans": [[0, 3, 0], [3, 9, 1]]}, "bytes_by_reason"),
        ({"spans": "text"}, "spans"),
        ({"spans": []}, "spans"),
        ({"spans": [[0, 3]]}, "spans"),
        ({"spans": [[0, 3, 0.5]]}, "spans"),
        ({"reasons": []}, "reason 0 is none of"),
        ({"size_bytes": None}, "size_bytes"),
        ({"size_bytes": 10}, "the file at 10 bytes"),
        ({"kept_bytes": 4, "removed_bytes": 5}, "kept_bytes"),
        ({"version": 0}, "version 0"),
        ({"gpu_code": {}}, "gpu_code"),
        ({"gpu_code": example()["gpu_code"] | {"elements": [[1, 5, 1]]}}, "gpu_code.elements"),
    ],
)
def test_what_does_not_add_up_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write_json(tmp_path / "spans.json", example() | change)
    with pytest.raises(TrimtabError, match=rf"spans\.json: .*{said}.*run the stage `debloat`"):
        LibrarySpans.read(tmp_path / "spans.json")


def test_reasons_of_another_version_are_refused(tmp_path: Path) -> None:
    document = example()
    document["reasons"] = document["reasons"][:-1]
    del document["bytes_by_reason"][max(SpanReason).text]
    write_json(tmp_path / "spans.json", document)
    with pytest.raises(TrimtabError, match=r"a\.so: other reasons"):
        spans_of(LibrarySpans.read(tmp_path / "spans.json"))


def test_a_library_has_one_flat_file() -> None:
    assert spans_file(Path("x"), "lib/sub/a.so.1") == Path("x/lib__sub__a.so.1.json")
