from itertools import combinations
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.event_log import read_event_log
from trimtab.spark.programs.prepare import write_web_graph
from trimtab.spark.programs.triangles import SAMPLED, TriangleCount, pairs_of, partition_edges
from trimtab.spark.session import Session


def counted(path: Path) -> int:
    """A second implementation: every link's ends and their common neighbours."""
    neighbours: dict[int, set[int]] = {}
    for line in path.read_text().splitlines():
        if not line.startswith(("#", "FromNodeId")):
            start, end = map(int, line.split())
            if start != end:
                neighbours.setdefault(start, set()).add(end)
                neighbours.setdefault(end, set()).add(start)
    common = [len(neighbours[a] & neighbours[b]) for a in neighbours for b in neighbours[a]]
    return sum(common) // 6


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    write_web_graph(path, nodes=400)
    return path


def test_a_triangle_is_counted_once(spark: Session, tmp_path: Path) -> None:
    edges = [(1, 2), (2, 1), (3, 1), (2, 3), (2, 3), (3, 3), (3, 4), (4, 5), (5, 6), (6, 4)]
    path = tmp_path / "edges.txt"
    path.write_text("FromNodeId\tToNodeId\n" + "".join(f"{a}\t{b}\n" for a, b in edges))
    partition_edges(path, tmp_path / "parts", 3)
    assert TriangleCount(tmp_path / "parts")(spark.context, 0.0, 0) == 2 == counted(path)


def test_the_count_is_that_of_adjacency_sets(spark: Session, graph: Path, tmp_path: Path) -> None:
    partition_edges(graph, tmp_path / "parts", 4)
    assert TriangleCount(tmp_path / "parts")(spark.context, 0.0, 0) == counted(graph) > 100


def test_every_map_stage_launches_the_kept_tasks_only(
    spark: Session, graph: Path, tmp_path: Path
) -> None:
    partition_edges(graph, tmp_path / "parts", 5)
    program = TriangleCount(tmp_path / "parts")
    exact = counted(graph)
    spark.context.setJobGroup("triangles", "")
    found = program(spark.context, 0.2, 1)
    spark.flush()
    log = read_event_log(spark.event_log).of_groups(["triangles"])
    maps = log.stages[log.stages.kind == "map"].sort_values("stage")
    # Read; distinct edges by their corner; both the edges and their pairs by edge.
    assert sorted(maps.tasks) == [4, 4, 8] and sorted(maps.dropped_tasks) == [1, 1, 2]
    assert (
        log.tasks.groupby("stage").size().to_dict() == log.stages.set_index("stage").tasks.to_dict()
    )
    assert 0 < found < exact
    estimate = found / 0.8**SAMPLED
    assert program.error_pct(found, exact, 0.2) == pytest.approx(100 * abs(estimate / exact - 1))


def test_files_hold_each_link_once_and_both_directions_together(tmp_path: Path) -> None:
    links = [(a, b) for a, b in combinations(range(30), 2)]
    path = tmp_path / "edges.txt"
    both = links + [(b, a) for a, b in links]
    path.write_text("# comment\n\n" + "".join(f"{a} {b}\n" for a, b in both))
    partition_edges(path, tmp_path / "parts", 6)
    parts = [
        {tuple(map(int, line.split())) for line in part.read_text().splitlines()}
        for part in sorted((tmp_path / "parts").iterdir())
    ]
    assert sum(map(len, parts)) == len(both) and set.union(*parts) == set(both)
    assert all((b, a) in part for part in parts for a, b in part)
    sizes = [len(part) for part in parts]
    assert min(sizes) > 0.5 * len(both) / 6  # spread, not heaped


def test_pairs_are_in_order() -> None:
    assert list(pairs_of((9, [3, 1, 2]))) == [((1, 2), 9), ((1, 3), 9), ((2, 3), 9)]


def test_a_line_that_is_no_edge(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("1\t2\n3\n")
    with pytest.raises(UserError, match=r"edges\.txt:2: '3'; expected two node numbers"):
        partition_edges(path, tmp_path / "parts", 2)


def test_a_folder_without_files(spark: Session, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="partition_edges"):
        TriangleCount(tmp_path)(spark.context, 0.0, 0)
