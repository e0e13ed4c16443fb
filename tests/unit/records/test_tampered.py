"""Whatever was done to a field of a document, it is read as it is or refused with one clear line.

`benchmarks/tampered.py` does it to a real workspace, with the commands that read it.
"""

import json
import os
from pathlib import Path

import pytest
from damage import damages
from test_schedule_documents import DOCUMENTS

from trimtab.cli.documents import TracedProgram
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, escape_control_characters
from trimtab.records.built_environment import BuiltEnvironment, LinkedFile
from trimtab.records.document import Document
from trimtab.records.library_spans import GpuCodeSpans, LibrarySpans, SpanReasonText
from trimtab.records.manifest import (
    DebloatedFile,
    Environment,
    Manifest,
    RunTimeModule,
    Timings,
    UnloadedLibrary,
)
from trimtab.records.misses.learned import LearnedCode, LearnedLibrary
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.misses.settling import Risk, Settling, SlimRun
from trimtab.records.usage import Usage, UsedFile, UsedGpu, UsedLibrary, UsedModule, UsedProcess
from trimtab.records.used import ByteCodeRead, UsedCode, UsedCodeByLibrary
from trimtab.records.verdict import Crash, ResidentBytes, Verdict, VerifiedWorkload

DIGEST = "ab" * 32
MISS = RemovedCall("lib/x.so", 16, "f", 2)
REASONS = [SpanReasonText("used", True), SpanReasonText("unused", False)]
GPU = GpuCodeSpans(
    REASONS, {"used": 1, "unused": 1}, {"used": 4, "unused": 3}, ["k"], [(1, 5, 0), (5, 8, 1)], 1,
    [(1, 1)], {5: "k2"},
)  # fmt: skip
EXAMPLES: tuple[Document, ...] = (
    Usage(
        workload="w", command=["python"], complete=True, notes=["n"], trace_s=1.5,
        processes=[UsedProcess(1, 0, "/bin/x", "exit")],
        libraries=[UsedLibrary("/e/lib/x.so", "ab", 9, True, "", 3, 1, [16], [24], DIGEST)],
        files=[UsedFile("x", "/e/x", ["read", "stat"])], gpus=[UsedGpu("H200", 90)],
        modules=[UsedModule(DIGEST, 5, ["k"], ["g"], False, [1])], kernels_traced=True,
    ),
    Manifest(
        target="t", hardware="h", workloads=["w"], environment=Environment("python_prefix", "/e"),
        mode="compact", symbols="strip", gpus=[UsedGpu("H200", 90)], timings=Timings(1, 2, 3),
        modules_made_at_run_time=[RunTimeModule(DIGEST, 5, ["k"])],
        files={"lib/x.so": DebloatedFile(DIGEST, DIGEST, 9, 8)},
        unloaded={"lib/y.so": UnloadedLibrary(2, 1)},
    ),
    LibrarySpans(
        library="/e/lib/x.so", name="lib/x.so", build_id="ab", sha256=DIGEST, size_bytes=9,
        minimum_hole_bytes=4096, kept_bytes=3, removed_bytes=6,
        bytes_by_reason={"used": 3, "unused": 6}, reasons=REASONS, spans=[(0, 3, 0), (3, 9, 1)],
        gpu_code=GPU,
    ),
    ByteCodeRead(paths=["/e/lib/__pycache__/x.cpython-311.pyc"]),
    UsedCodeByLibrary(libraries={"lib/x.so": UsedCode(frozenset([1, 2]), frozenset(["k"]))}),
    BuiltEnvironment(
        target="t", before_bytes=9, after_bytes=8, shared_bytes=3,
        linked={"lib/y.so": LinkedFile(3, 7)}, fallback={"trimtab/a": DIGEST},
    ),
    LearnedCode(target="t", libraries={"lib/x.so": LearnedLibrary("ab", 9, DIGEST, [MISS])}),
    Settling(
        target="t", hardware="h", clean_runs=1, builds=2, settled=True,
        runs=[SlimRun("w", "as it is", 0, [0]), SlimRun("w", "as it is", 1)], missed=[MISS],
    ),
    Verdict(
        target="t", hardware="h", passed=False, failed_workload="w", problem="p",
        workloads=[VerifiedWorkload("w", 2, True, 2, "lines", 3, 3, 1, Risk(1, 0, 0, 1, 0, 0.9))],
        removed_calls=[MISS], resident_bytes={"w": ResidentBytes(5, 3)},
        crash=Crash("SIGSEGV", "/e/x.so", 16, "f"),
    ),
    TracedProgram(workload=Workload(name="w", command=["python", "x.py"], python="/e/bin/python")),
    *DOCUMENTS,
)  # fmt: skip
NEVER = ("unknown object", "list of lists", "1e999", "NaN", "huge", "NUL")
ELSEWHERE = ("out of the folder", "called '../../victim'", "called '/abs/victim'")
PLACES = (
    "libraries.0.path",
    "environment.location",
    "lib/x.so",
    "lib/y.so",
    "trimtab/a",
    "0.library",
)
each = pytest.mark.parametrize("document", EXAMPLES, ids=lambda one: type(one).__name__)


def refusal(kind: type[Document], path: Path) -> str:
    """What reading says, or an empty text where it accepts the document."""
    try:
        kind.read(path)
    except TrimtabError as error:
        return str(error)
    return ""


@each
def test_every_field_of_every_document(tmp_path: Path, document: Document) -> None:
    path, kind = tmp_path / "document.json", type(document)
    accepted = []
    for damage in damages(document.to_json()):
        path.write_bytes(damage.content)
        said = refusal(kind, path)
        if said:
            assert said.startswith(f"{path}") and f"`{kind.stage}` again" in said, damage
            assert "\n" not in said and len(escape_control_characters(said)) < 2000, damage
        else:
            assert not damage.never, damage
            accepted.append((damage.field, damage.kind))
    # What is accepted is another value of the field's own kind; never one that leads elsewhere.
    for field, how in accepted:
        assert how not in NEVER, (field, how)
        if how in ELSEWHERE:
            assert not field.endswith(PLACES), (field, how)


@each
def test_what_is_no_file(tmp_path: Path, document: Document) -> None:
    path, kind = tmp_path / "document.json", type(document)
    path.mkdir()
    assert "not a file" in refusal(kind, path)
    path.rmdir()
    os.mkfifo(path)
    assert "not a file" in refusal(kind, path)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "not a file" in refusal(kind, path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(2 << 30)
    assert "larger than" in refusal(kind, path)
    path.unlink()
    assert "missing; run" in refusal(kind, path)


def test_every_field_of_a_line_of_a_record(tmp_path: Path) -> None:
    path = tmp_path / "fallback.jsonl"
    call = {"pid": 1, "time_s": 1.5, "library": "lib/x.so", "address": 16, "function": "f"}
    for line in (call, {"pid": 1, "time_s": 1.5, "functions": 3}):
        for damage in damages(line):
            if damage.kind == "empty" or b"\n" in damage.content:
                continue
            path.write_bytes(json.dumps(call).encode() + b"\n" + damage.content + b"\n")
            try:
                calls = read_removed_calls(path)
            except TrimtabError as error:
                assert str(error).startswith(f"{path}: line 2 is no record"), damage
                assert "\n" not in str(error) and len(str(error)) < 1000
            else:
                assert not damage.never, damage
                assert all(".." not in each.library.split("/") for each in calls)


def test_many_mistakes_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    rows = b"{}," * 300_000
    path.write_bytes(b'{"version": 5, "libraries": [' + rows[:-1] + b"]}")
    assert "libraries[0]" in refusal(Usage, path) or "workload" in refusal(Usage, path)
