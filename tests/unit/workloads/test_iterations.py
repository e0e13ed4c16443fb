"""Jacobi, k-means and breadth-first search against other programs of the same methods."""

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array, csgraph, diags_array, eye_array, kron
from scipy.sparse.linalg import spsolve
from sklearn.cluster import KMeans as TheirKMeans

from trimtab.workloads.data import InputError, Split, digits
from trimtab.workloads.tuned.bfs import BreadthFirstSearch
from trimtab.workloads.tuned.jacobi import Jacobi
from trimtab.workloads.tuned.spk_means import KMeans

ORDER = torch.Generator()


def test_jacobi_reaches_the_solution_of_the_linear_equations() -> None:
    side = 12
    jacobi = Jacobi(side, relaxation=1.0, block=5, sweeps=2000, seed=3)
    assert jacobi.quality()["validation_accuracy"] == 0
    loss = jacobi.advance(ORDER)
    line = diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    unit = eye_array(side)
    plane = kron(line, unit) + kron(unit, line)
    expected = spsolve(plane.tocsc(), jacobi.sources.numpy().ravel()).reshape(side, side)
    np.testing.assert_allclose(jacobi.plate[1:-1, 1:-1].numpy(), expected, rtol=1e-9)
    assert loss == jacobi.quality()["residual"] < 1e-12
    assert jacobi.quality()["validation_accuracy"] == 1


def test_one_sweep_of_jacobi_by_hand() -> None:
    jacobi = Jacobi(3, relaxation=0.5, block=3, sweeps=1, seed=0)
    jacobi.sources.zero_()
    jacobi.sources[1, 1] = 8.0
    # The middle moves half the way to (0 + 8) / 4; then it lacks 8 - 4, its neighbours 1 each.
    assert jacobi.advance(ORDER) == pytest.approx((16 + 4 * 1) ** 0.5 / 8)
    assert jacobi.plate[2, 2] == 1.0 and jacobi.plate.sum() == 1.0


@pytest.mark.parametrize("block", [1, 7, 100])
def test_rows_at_a_time_change_no_bit_of_jacobi(block: int) -> None:
    whole, blocks = (Jacobi(20, 0.9, rows, sweeps=30, seed=1) for rows in (20, block))
    whole.advance(ORDER), blocks.advance(ORDER)
    assert torch.equal(whole.plate, blocks.plate)


def test_digits_of_jacobi_are_counted_between_none_and_those_wanted() -> None:
    jacobi = Jacobi(4, relaxation=1.0, block=4, sweeps=1, seed=0)
    for factor, accuracy in ((1.0, 0.0), (0.1, 1 / 3), (1e-3, 1.0), (0.0, 1.0), (7.0, 0.0)):
        # With nothing on the plate the residual is what the sources are.
        whole = jacobi.sources.clone()
        jacobi.plate[1:-1, 1:-1] = torch.linalg.solve(
            _plane(4), (1 - factor) * whole.flatten()
        ).reshape(4, 4)
        assert jacobi.quality()["validation_accuracy"] == pytest.approx(accuracy, abs=1e-9)


def _plane(side: int) -> torch.Tensor:
    line = 2 * torch.eye(side, dtype=torch.float64)
    line -= torch.diag(torch.ones(side - 1, dtype=torch.float64), 1)
    line -= torch.diag(torch.ones(side - 1, dtype=torch.float64), -1)
    unit = torch.eye(side, dtype=torch.float64)
    return torch.kron(line, unit) + torch.kron(unit, line)


def test_jacobi_that_diverges_is_told_so() -> None:
    jacobi = Jacobi(20, relaxation=1.5, block=20, sweeps=50, seed=1)
    losses = [jacobi.advance(ORDER) for _ in range(3)]
    assert losses[0] < losses[1] < losses[2]
    assert jacobi.quality()["validation_accuracy"] == 0


def flat(split: Split) -> np.ndarray:
    return split.inputs.reshape(len(split), -1).astype(np.float32) / 127.5 - 1


def test_one_partition_is_lloyds_algorithm() -> None:
    data = digits.load()
    means = KMeans(data.train, {"validation": data.test}, 10, 1.0, len(data.train), seed=4)
    first = means.centres.numpy().copy()
    theirs = TheirKMeans(10, init=first, n_init=1, max_iter=10, tol=0, algorithm="lloyd")
    theirs.fit(flat(data.train))
    loss = means.advance(ORDER)
    np.testing.assert_allclose(means.centres.numpy(), theirs.cluster_centers_, atol=1e-4)
    variance = flat(data.train).var(axis=0).sum()
    assert loss == pytest.approx(theirs.inertia_ / len(data.train) / variance, rel=1e-4)
    commonest = [np.bincount(data.train.labels[theirs.labels_ == k]).argmax() for k in range(10)]
    right = np.array(commonest)[theirs.predict(flat(data.test))] == data.test.labels
    assert means.quality()["validation_accuracy"] == pytest.approx(right.mean(), abs=0.01)


def test_an_empty_cluster_keeps_its_centre_and_too_many_are_refused() -> None:
    data = digits.load().train.first(20)
    means = KMeans(data, {"validation": data}, 5, 1.0, 8, seed=0)
    means.centres[2] = 1000.0
    means.advance(ORDER)
    assert (means.centres[2] == 1000.0).all()
    with pytest.raises(InputError, match="--clusters 21: there are 20 samples"):
        KMeans(data, {"validation": data}, 21, 1.0, 8, seed=0)


@pytest.mark.parametrize("levels", [1, 2, 50])
def test_searches_reach_what_scipy_finds_within_so_many_edges(levels: int) -> None:
    rng = np.random.default_rng(levels)
    vertices = 60
    edges = np.unique(rng.integers(vertices, size=(90, 2)), axis=0)
    search = BreadthFirstSearch(vertices, edges, levels, batch_size=7, searches=vertices)
    seen = search.search(torch.arange(vertices)).numpy()
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(vertices, vertices))
    distance = csgraph.shortest_path(graph.tocsr(), unweighted=True)
    assert np.array_equal(seen.T, distance <= levels)


def test_the_share_that_is_reached_is_that_of_all_epochs() -> None:
    chain = np.array([[0, 1], [1, 2], [2, 3]])
    search = BreadthFirstSearch(4, chain, levels=2, batch_size=3, searches=8)
    losses = [search.advance(torch.Generator().manual_seed(seed)) for seed in range(3)]
    assert search.quality()["validation_accuracy"] == pytest.approx(1 - np.mean(losses))
    assert search.search(torch.tensor([0])).flatten().tolist() == [True, True, True, False]
