"""The task programs give the right result in every variant, and say truly what they did."""

import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from random_graphs import predecessors
from sgx_ompss.graphs import cholesky, matmul, stream
from task_programs import PROGRAMS, SOURCES, build, objects, run, run_path, shared_sources

from trimtab.cli.doctor import missing
from trimtab.native import native_path
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.graphs.recorded import read_recorded
from trimtab.secure_tasks.simulation.machine import EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import simulate

UNPROTECTED = [("original", None, 1), ("ompss", None, 1), ("ompss", None, 3)]
PROTECTED = [
    (variant, enclave, workers)
    for enclave in ("process", "pkeys", "modelled")
    for variant, workers in (("sgx", 1), ("sgxo", 3), ("esgx", 1), ("esgxo", 3))
] + [("sgx", "sgx", 1), ("sgxo", "sgx", 3)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("variant", "enclave", "workers"), UNPROTECTED + PROTECTED)
def test_the_result_is_right(program: str, variant: str, enclave: str | None, workers: int) -> None:
    words = [] if enclave is None else ["--enclave", enclave]
    line = run(
        program, "--size", 40, "--block", 8, "--variant", variant, "--workers", workers, *words
    )
    assert line["correct"] is True
    assert (line["application"], line["variant"], line["enclave"]) == (program, variant, enclave)
    assert (line["size"], line["block"], line["workers"]) == (40, 8, workers)
    assert line["run_s"] > 0
    assert line["calls"] == (line["tasks"] if enclave else 0)
    assert (line["bytes"] > 0) == bool(enclave)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("block", [1, 5, 30])
def test_other_blocks(program: str, block: int) -> None:
    assert run(program, "--size", 30, "--block", block, "--variant", "ompss", "--workers", 2)


def test_marks_are_lines_before_and_after_the_tasks() -> None:
    words = ["--size", 16, "--block", 8, "--variant", "ompss"]
    done = run_path(native_path("trimtab-task-matmul"), *words, "--marks")
    assert done.returncode == 0
    *marks, line = done.stdout.splitlines()
    assert marks == ["tasks begin", "tasks end"] and json.loads(line)["correct"] is True
    assert len(run_path(native_path("trimtab-task-matmul"), *words).stdout.splitlines()) == 1


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    """Of programs whose kernels are slightly wrong."""
    product = "sum += x[i] * y[i];"
    text = (SOURCES / "numbers.h").read_text()
    assert product in text
    # Found before the other one, as it is beside who includes it.
    (tmp_path / "numbers.h").write_text(text.replace(product, "sum += i ? x[i] * y[i] : 0;"))
    text = (SOURCES / "kernels.c").read_text()
    for right, wrong in (
        ("+= factor * b[k * side + j];", "+= factor * b[j * side + k];"),
        ("x[i] + factor * y[i];", "x[i] + factor * y[i] + (i == 0);"),
    ):
        assert right in text
        text = text.replace(right, wrong)
    kernels = tmp_path / "kernels.c"
    kernels.write_text(text)
    others = [path for path in shared_sources() if path.name != "kernels.c"]
    shared = objects([*others, kernels], tmp_path / "objects")
    for program in ("cholesky", "matmul", "dot_product", "stream_barriers"):
        path = build([SOURCES / f"{program}.c", *shared], tmp_path / program)
        done = run_path(path, "--size", 16, "--block", 8)
        assert (done.returncode, '"correct": false' in done.stdout) == (1, True), program


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--size", 8], "--size, --block: missing"),
        (["--size", 8, "--block", 3], "--size: not a multiple"),
        (["--size", 0, "--block", 1], "--size: not a whole number"),
        (["--size", -8, "--block", 4], "--size: not a whole number"),
        (["--size", "8x", "--block", 4], "--size: not a whole number"),
        (["--size", 10**12, "--block", 4], "--size: not a whole number from 1, or too large"),
        (["--size", 8, "--block", 4, "--workers", 33], "--workers: not a whole number"),
        (["--size", 8, "--block", 4, "--workers", 2], "--workers: original, sgx and esgx have one"),
        (["--size", 8, "--block", 4, "--variant", "tdx"], "--variant: there is none"),
        (["--size", 8, "--block", 4, "--costs", "1,2"], "--costs: not four numbers"),
        (["--size", 8, "--block", 4, "--costs", "0,0,-1,0"], "--costs: negative"),
        (["--size", 8, "--block", 4, "--costs", "nan,0,0,0"], "--costs: negative"),
        (["--size", 8, "--block", 4, "more"], "more: not understood"),
        # Three times 2^32 of them, which a number of 32 bits takes for none.
        (["--size", 65536, "--block", 1], "--block: more than 4194304 blocks of data"),
    ],
)
def test_a_wrong_command_line_is_said(words: list[object], what: str) -> None:
    done = run_path(native_path("trimtab-task-matmul"), *words)
    assert done.returncode == 2
    assert done.stderr.startswith(what)
    assert "usage: trimtab-task-matmul" in done.stderr


def test_too_little_memory_is_said() -> None:
    """Also where it is enough for the blocks, and not for what they are checked against."""
    program = native_path("trimtab-task-matmul")
    for kib in (40_000, 150_000):
        limited = ("-c", f'ulimit -v {kib}; exec "$0" "$@"', program)
        done = run_path(Path("/bin/sh"), *limited, "--size", 2048, "--block", 2048)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == "blocks: no memory left; a smaller --size needs less\n"


def test_an_unknown_enclave_is_said() -> None:
    words = ("--size", 8, "--block", 4, "--variant", "sgx", "--enclave", "moat")
    done = run_path(native_path("trimtab-task-matmul"), *words)
    assert done.returncode == 3
    assert done.stderr.startswith("moat: no kind of enclave has this name: there are process,")


def test_an_enclave_of_sgx_needs_intels_sdk() -> None:
    """A build without it says what is missing, in each protected variant."""
    if missing("Intel's SGX SDK") == "":
        pytest.skip("it is installed here")
    for variant in ("sgx", "esgx"):
        words = ("--size", 8, "--block", 4, "--variant", variant, "--enclave", "sgx")
        done = run_path(native_path("trimtab-task-matmul"), *words)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("sgx: built without Intel's SGX SDK")
        assert "SGX_SDK" in done.stderr and "untested" in done.stderr


def test_an_enclave_of_sgx_has_a_place_for_each_thread_and_its_heap_fits_the_page_cache() -> None:
    """What is signed into it, beside the limits of the interface; and it has all kernels."""
    config = ElementTree.parse(SOURCES / "sgx/enclave.config.xml").getroot()
    limits = {key: int(config.findtext(key) or "", 0) for key in ("TCSNum", "HeapMaxSize")}
    threads = re.search(r"ENCLAVE_MOST_THREADS = (\d+)", (SOURCES / "enclave.h").read_text())
    assert threads and limits["TCSNum"] == int(threads[1])
    assert limits["HeapMaxSize"] < 93.5 * 2**20
    parts = (SOURCES / "sgx/sgx.mk").read_text()
    headers = re.findall(r'#include "(\w+)\.h"', (SOURCES / "kernels.c").read_text())
    for name in headers:
        assert f"{name}.c" in parts or not (SOURCES / f"{name}.c").exists()


def test_modelled_costs_are_paid() -> None:
    """By each of 27 calls, each of their bytes and each page: the run takes no less."""
    words = ("--size", 96, "--block", 32, "--variant", "sgx", "--enclave", "modelled")
    for costs, least_s in (
        ("1e-4,0,0,0", 27e-4),
        ("0,1e-9,0,0", 27 * 4 * 32 * 32 * 8e-9),
        # A cache of one page holds none of a tile's two again.
        ("0,0,1e-4,4096", 27 * 3 * 2e-4),
    ):
        assert run("matmul", *words, "--costs", costs)["run_s"] >= least_s


def rows_of(program: str, path: Path, *words: object) -> list[dict[str, object]]:
    line = run(program, "--record", path, *words)
    rows = [json.loads(text) for text in path.read_text().splitlines()]
    assert [row["task"] for row in rows] == list(range(len(rows)))
    assert sum(row["kind"] != "barrier" for row in rows) == line["tasks"]
    return rows


def cholesky_by_definition(tiles: int) -> list[tuple[str, set[int]]]:
    """Kinds and direct predecessors, from what each task reads and writes."""
    tasks: list[tuple[str, set[int]]] = []
    writer: dict[tuple[int, int], int] = {}
    readers: dict[tuple[int, int], set[int]] = {}

    def add(kind: str, reads: list[tuple[int, int]], written: tuple[int, int]) -> None:
        before = {writer[tile] for tile in [*reads, written] if tile in writer}
        before |= readers.pop(written, set())
        for tile in reads:
            readers.setdefault(tile, set()).add(len(tasks))
        writer[written] = len(tasks)
        tasks.append((kind, before))

    for k in range(tiles):
        add("potrf", [], (k, k))
        for i in range(k + 1, tiles):
            add("trsm", [(k, k)], (i, k))
        for i in range(k + 1, tiles):
            for j in range(k + 1, i):
                add("gemm", [(i, k), (j, k)], (i, j))
            add("syrk", [(i, k)], (i, i))
    return tasks


def test_the_recorded_graph_of_cholesky(tmp_path: Path) -> None:
    words = ("--size", 48, "--block", 8, "--variant", "ompss", "--workers", 2)
    rows = rows_of("cholesky", tmp_path / "graph.jsonl", *words)
    expected = cholesky_by_definition(6)
    found = [(row["kind"], set(row["predecessors"])) for row in rows]  # type: ignore[call-overload]
    assert found == expected
    tile_bytes = 8 * 8 * 8
    tiles_in = {"potrf": 1, "trsm": 2, "syrk": 2, "gemm": 3}
    for row in rows:
        assert row["bytes_in"] == tiles_in[str(row["kind"])] * tile_bytes
        assert row["bytes_out"] == tile_bytes
        assert 0 < float(str(row["run_s"])) < 10


GENERATED = {
    "cholesky": cholesky(6, 8, flop_s=1e-9),
    "matmul": matmul(6, 8, flop_s=1e-9),
    "stream_barriers": stream(6, 8, repeats=10, barriers=True, byte_s=1e-9),
    "stream_dependences": stream(6, 8, repeats=10, barriers=False, byte_s=1e-9),
}


@pytest.mark.parametrize("program", GENERATED)
def test_what_a_program_records_is_the_graph_that_is_generated(
    tmp_path: Path, program: str
) -> None:
    """From the native run to the simulation."""
    path = tmp_path / "graph.jsonl"
    run(program, "--size", 48, "--block", 8, "--variant", "ompss", "--workers", 2, "--record", path)
    recorded, expected = read_recorded(path), GENERATED[program]
    assert kinds(recorded) == kinds(expected)
    assert predecessors(recorded) == predecessors(expected)
    assert (recorded.bytes_in == expected.bytes_in).all()
    alone = simulate(recorded, EnclaveMachine((WorkerKind("cpu", 1),)), "breadth_first")
    assert alone.makespan_s == pytest.approx(recorded.work_s.sum())


def kinds(graph: TaskGraph) -> list[str]:
    return [graph.kinds[at] for at in graph.kind]


def test_the_recorded_graph_does_not_depend_on_the_variant(tmp_path: Path) -> None:
    words = ("--size", 24, "--block", 8)
    original = rows_of("matmul", tmp_path / "original.jsonl", *words)
    variant = ("--variant", "sgxo", "--enclave", "modelled", "--workers", 3)
    protected = rows_of("matmul", tmp_path / "protected.jsonl", *words, *variant)
    for one, other in zip(original, protected, strict=True):
        assert {**one, "run_s": 0} == {**other, "run_s": 0}


def test_barriers_are_tasks_of_the_recorded_graph(tmp_path: Path) -> None:
    rows = rows_of("stream_barriers", tmp_path / "graph.jsonl", "--size", 12, "--block", 4)
    assert Counter(row["kind"] for row in rows) == {
        "barrier": 40, "copy": 30, "scale": 30, "add": 30, "triad": 30
    }  # fmt: skip
    for row in rows[4:]:
        task = int(str(row["task"]))
        before = task - task % 4 - 1
        barrier = row["kind"] == "barrier"
        assert row["predecessors"] == ([*range(before + 1, task)] if barrier else [before])


def test_a_record_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    path = tmp_path / "none/graph.jsonl"
    words = ("--size", 8, "--block", 4, "--record", path)
    done = run_path(native_path("trimtab-task-matmul"), *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"{path}: cannot be written\n"
