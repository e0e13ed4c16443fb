import numpy as np
import pytest

from trimtab.workloads.data import InputError, fashion_mnist, graphs


def test_an_edge_list_of_snap_is_read_each_edge_once(tmp_path):
    path = tmp_path / "web.txt"
    path.write_text("# Directed\n# From To\n10\t500000\n500000\t10\n10\t500000\n7 7\n\n7\t10\n")
    name, source, vertices, edges = graphs.load(path, 5, 0)
    assert (name, vertices) == ("web", 3) and str(path) in source
    assert edges.tolist() == [[0, 1], [1, 2], [2, 1]]  # 7, 10 and 500000, without the loop
    path.write_text("FromNodeId\tToNodeId\n0\t1\n")
    assert graphs.read_edges(path).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "text", ["", "1\n", "1 2 3\n", "1 2\n3\n", "1 x\n", "1 -2\n", "1 " + "9" * 30]
)
def test_other_files_are_no_edges(tmp_path, text):
    path = tmp_path / "web.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"web\.txt: .*two vertices"):
        graphs.load(path, 5, 0)


def test_a_graph_is_drawn_by_its_seed_with_the_quadrants_of_graph500():
    _, source, vertices, edges = graphs.load(None, 10, 3)
    assert vertices == 1024 and "seed 3" in source
    assert (edges[:, 0] != edges[:, 1]).all() and edges.min() >= 0 and edges.max() < 1024
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert np.array_equal(edges, graphs.load(None, 10, 3)[3])
    assert not np.array_equal(edges, graphs.load(None, 10, 4)[3])
    drawn = graphs._drawn(10, np.random.default_rng(0))
    assert (drawn[:, 0] < 512).mean() == pytest.approx(0.76, abs=0.02)
    assert len(drawn) == 16 * 1024


def test_digits_stand_in_the_middle_of_images_of_fashions_size():
    data = fashion_mnist.load(None, 30, 10)
    assert data.train.inputs.shape == (30, 1, 28, 28) and len(data.test) == 10
    assert "in place of Fashion-MNIST" in data.source
    for edge in (data.train.inputs[..., :2, :], data.train.inputs[..., -2:]):
        assert not edge.any()
    blocks = data.train.inputs[:, 0, 2:-2, 2:-2].reshape(-1, 8, 3, 8, 3)
    assert (blocks == blocks[:, :, :1, :, :1]).all() and blocks.any()
