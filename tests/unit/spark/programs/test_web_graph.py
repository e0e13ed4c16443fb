from collections import Counter
from pathlib import Path

from trimtab.spark.programs.prepare import write_web_graph


def edges_of(path: Path) -> list[tuple[int, int]]:
    lines = path.read_text().splitlines()
    return [
        (int(start), int(end))
        for start, end in (line.split("\t") for line in lines if not line.startswith("#"))
    ]


def test_the_graph_looks_like_the_web_and_is_the_same_for_a_seed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "same", "other")]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        write_web_graph(path, nodes=2000, seed=seed)
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()
    edges = edges_of(paths[0])
    assert len(set(edges)) == len(edges)
    assert all(0 <= target < node < 2000 for node, target in edges)  # links go to older pages
    assert {node for node, _ in edges} == set(range(1, 2000))
    links_in = Counter(target for _, target in edges)
    mean = len(edges) / 2000
    assert max(links_in.values()) > 20 * mean  # a few pages are linked to by very many
    assert sorted(links_in.values())[len(links_in) // 2] < mean
