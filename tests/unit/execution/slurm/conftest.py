"""One real Slurm for all tests that need one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.execution.slurm.cluster import SlurmCluster, why_not

sys.path.insert(0, str(Path(__file__).parent.parent))  # real_queue.py

GIB = 1 << 30
FAST = NodeType("fast", 4000, 8 * GIB, 1.0, (Level(1.0, 1.0),))
SLOW = NodeType("slow-arm", 2000, 4 * GIB, 1.0, (Level(0.25, 1.0), Level(0.5, 1.0)), enclave="sgx1")
NODES = Cluster((FAST, SLOW), (2, 1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep them on one worker, which starts it once."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("slurm"))


@pytest.fixture(scope="session")
def nodes() -> Cluster:
    """Two fast nodes, and a slow one at half their speed."""
    return NODES


@pytest.fixture(scope="session")
def needs_slurm() -> None:
    """Skip where no Slurm can be started, saying why."""
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def slurm(needs_slurm: None) -> Iterator[SlurmCluster]:
    """A real Slurm with those nodes."""
    with SlurmCluster(NODES) as cluster:
        yield cluster
