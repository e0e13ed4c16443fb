"""Graphs in files: what is written is read, and what no graph is is refused by name."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from random_graphs import graphs, predecessors

from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph
from trimtab.enclaves.graphs.recorded import read_recorded
from trimtab.enclaves.graphs.tables import read_graph, write_graph
from trimtab.enclaves.graphs.written import read_written
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import DEPENDENCES, TASKS

ROW = {
    "task": 1,
    "kind": "gemm",
    "run_s": 0.5,
    "bytes_in": 16,
    "bytes_out": 8,
    "predecessors": [0],
}


@given(graphs())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_tables_round_trip(tmp_path: Path, graph: TaskGraph) -> None:
    write_graph(tmp_path, graph)
    back = read_graph(tmp_path)
    for name in ("work_s", "bytes_in", "bytes_out", "working_set_bytes", "secure", "successors"):
        np.testing.assert_array_equal(getattr(back, name), getattr(graph, name))
    assert predecessors(back) == predecessors(graph)
    assert [back.kinds[at] for at in back.kind] == [graph.kinds[at] for at in graph.kind]
    for task in range(len(graph)):
        assert _devices(back, task) == _devices(graph, task)


def _devices(graph: TaskGraph, task: int) -> set[str]:
    mask = int(graph.target[task])
    return {name for at, name in enumerate(graph.devices) if mask >> at & 1}


def _two_tasks() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "task_number": [0, 1],
            "task_kind": ["a", "b"],
            "task_work_s": [1.0, 2.0],
            "task_bytes_in": [0, 0],
            "task_bytes_out": [0, 0],
            "working_set_bytes": [0, 0],
            "secure": [True, False],
            "target": ["cpu", "cpu+gpu"],
        }
    )


@pytest.mark.parametrize(
    ("changes", "edges", "message"),
    [
        ({}, [(0, 2)], r"dependences\.parquet: row 0: successor: 2; there are 2 tasks"),
        ({}, [(0, 1), (1, 0)], r"tasks that wait for each other: 0, 1"),
        ({}, [(0, 1), (1, 1)], r"tasks that wait for each other: 1"),
        (
            {"task_work_s": [1.0, -1.0]},
            [],
            r"tasks\.parquet: column task_work_s: -1\.0, expected 0",
        ),
        ({"task_work_s": [1.0, 1e300]}, [], r"task 1: work_s: 1e\+300, expected 0 to 1e\+09"),
        ({"task_bytes_in": [0, 1 << 60]}, [], r"task 1: bytes_in: 1.*, expected 0 to"),
        ({"task_number": [0, 5]}, [], r"tasks\.parquet: row 1: task_number: 5, expected 1"),
        ({"target": ["cpu", ""]}, [], r"tasks\.parquet: row 1: target: '', expected kinds"),
        ({"target": ["cpu", None]}, [], r"column target: 1 rows have none"),
        ({"task_work_s": [1.0, None]}, [], r"column task_work_s: 1 rows have none"),
    ],
)
def test_tables_that_are_no_graph_are_refused(
    tmp_path: Path, changes: dict[str, list[object]], edges: list[tuple[int, int]], message: str
) -> None:
    write_table(tmp_path / "tasks.parquet", TASKS, _two_tasks().assign(**changes))
    frame = pd.DataFrame(np.reshape(edges, (-1, 2)).astype(int), columns=DEPENDENCES.names)
    write_table(tmp_path / "dependences.parquet", DEPENDENCES, frame)
    with pytest.raises(TrimtabError, match=message):
        read_graph(tmp_path)


def test_what_a_program_recorded(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    rows = [
        {**ROW, "task": 0, "kind": "potrf", "predecessors": []},
        ROW,
        {**ROW, "task": 2, "kind": "barrier", "predecessors": [0, 1]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    graph = read_recorded(path, secure_kinds=["gemm"])
    assert graph.kinds == ("potrf", "gemm", "barrier")
    assert graph.secure.tolist() == [False, True, False]
    assert predecessors(graph) == [(0, 1), (0, 2), (1, 2)]
    assert graph.working_set_bytes.tolist() == [24, 24, 24]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x\n", "line 1: not JSON"),
        ("[]\n", "line 1: expected an object with the keys bytes_in"),
        ("{}", "line 1: longer than .* or cut off"),
        ("[" * 100_000 + "\n", "line 1: "),
        ({"task": 1}, "line 1: task: expected 0"),
        ({"kind": "a b"}, "line 1: kind: expected the name"),
        ({"run_s": -1}, "line 1: run_s: expected seconds"),
        ({"run_s": float("nan")}, "line 1: run_s: expected seconds"),
        ({"bytes_in": 1.5}, "line 1: bytes_in: expected a whole number"),
        ({"bytes_out": 1 << 70}, "line 1: bytes_out: expected a whole number"),
        ({"predecessors": [0]}, "line 1: predecessors: expected numbers of tasks in earlier"),
    ],
)
def test_lines_that_no_program_wrote_are_refused(
    tmp_path: Path, line: str | dict[str, object], message: str
) -> None:
    path = tmp_path / "graph.jsonl"
    first = {**ROW, "task": 0, "predecessors": []}
    path.write_text(line if isinstance(line, str) else json.dumps({**first, **line}) + "\n")
    with pytest.raises(TrimtabError, match=f"graph.jsonl, {message}"):
        read_recorded(path)


def test_a_graph_that_a_person_wrote(tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(
        "version: 1\ntasks:\n"
        "  - {name: load, work_s: 0.5, out: [image]}\n"
        "  - {name: find, work_s: 2, in: [image], secure: true, target: [cpu, gpu]}\n"
        "  - {name: blur, work_s: 1, inout: [image], after: [log], target: gpu}\n"
        "  - {name: log, work_s: 0, working_set_bytes: 7}\n"
    )
    graph = read_written(path)
    assert predecessors(graph) == [(0, 1), (0, 2), (1, 2), (3, 2)]
    assert graph.devices == ("cpu", "gpu") and graph.target.tolist() == [1, 3, 2, 1]
    assert graph.working_set_bytes.tolist() == [0, 0, 0, 7]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("[{name: a, work_s: -1}]", r"tasks\[0\]\.work_s: Input should be greater"),
        ("[{name: a, work_s: .nan}]", r"tasks\[0\]\.work_s: "),
        ("[{name: a, work_s: .inf}]", r"tasks\[0\]\.work_s: "),
        ("[{name: a, work_s: '1'}]", r"tasks\[0\]\.work_s: Input should be a valid number"),
        ("[{name: a}]", r"tasks\[0\]\.work_s: Field required"),
        ("[{name: a, work_s: 1, later: [b]}]", r"tasks\[0\]\.later: Extra"),
        ("[{name: a, work_s: 1, bytes_in: 4611686018427387904}]", r"tasks\[0\]\.bytes_in: "),
        ("[{name: a, work_s: 1, target: []}]", r"tasks\[0\]\.target: "),
        ("[{name: a, work_s: 1, after: [b]}]", r"tasks\[0\]\.after\[0\]: no task is named 'b'"),
        ("[{name: a, work_s: 1, after: [a]}]", r"tasks that wait for each other: 0"),
        (
            "[{name: a, work_s: 1, after: [b]}, {name: b, work_s: 1, after: [a]}]",
            r"tasks that wait for each other: 0, 1",
        ),
        (
            "[{name: a, work_s: 1}, {name: a, work_s: 1}]",
            r"tasks\[1\]\.name: 'a' is the name of tasks\[0\]",
        ),
        ("!!python/object:os.system x", "line 2: the tag"),
        ("[" * 50, "line 2: "),
        ("[}", "line 2: not YAML"),
        ("7", "tasks: Input should be a valid list"),
    ],
)
def test_yaml_that_is_no_graph_is_refused(tmp_path: Path, tasks: str, message: str) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(f"version: 1\ntasks: {tasks}\n")
    with pytest.raises(UserError, match=rf"graph\.yaml(, |: ){message}"):
        read_written(path)


def test_files_that_are_not_there_and_graphs_that_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for read in (read_written, read_recorded, read_graph):
        with pytest.raises(UserError, match="missing"):
            read(tmp_path / "none")
    builder = GraphBuilder()
    monkeypatch.setattr("trimtab.enclaves.graphs.builder.MOST_TASKS", 1)
    builder.add("a", 1.0)
    with pytest.raises(UserError, match="more than 1 tasks"):
        builder.add("a", 1.0)
