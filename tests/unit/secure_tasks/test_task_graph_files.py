"""Graphs in files: recorded and written ones are read, and other files are refused by name."""

import json
from pathlib import Path

import pytest
from random_graphs import predecessors

from trimtab.errors import TrimtabError, UserError
from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.recorded import read_recorded
from trimtab.secure_tasks.graphs.written import read_written

ROW = {
    "task": 1,
    "kind": "gemm",
    "run_s": 0.5,
    "bytes_in": 16,
    "bytes_out": 8,
    "predecessors": [0],
}


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
    for read in (read_written, read_recorded):
        with pytest.raises(UserError, match="missing"):
            read(tmp_path / "none")
    builder = GraphBuilder()
    monkeypatch.setattr("trimtab.secure_tasks.graphs.builder.MOST_TASKS", 1)
    builder.add("a", 1.0)
    with pytest.raises(UserError, match="more than 1 tasks"):
        builder.add("a", 1.0)
