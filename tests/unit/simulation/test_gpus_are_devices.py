"""A job's share of a GPU is of one of them, and whole GPUs are wholly free ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType, Outage
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.priority import Priority
from trimtab.simulation.result import Result
from trimtab.simulation.simulate import simulate

NODE = NodeType("node", 64_000, 64, 10.0, (Level(1.0, 40.0, 100.0),), gpu_milli=2000)
Job = tuple[float, int, float]  # arrival, thousandths of a GPU, work
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def schedule(
    jobs: list[Job],
    node: NodeType = NODE,
    policy: Policy | None = None,
    outages: tuple[Outage, ...] = (),
    priority: Any = 0,
) -> tuple[list[float], Result]:
    """Return the jobs' starts on one node, which both simulators agree on."""
    arrival_s, gpu_milli, work_s = zip(*jobs, strict=True)
    trace = pd.DataFrame(
        {
            "job": np.arange(len(jobs)),
            "arrival_s": arrival_s,
            "job_class": "a",
            "priority": priority,
            "cpu_milli": 1000,
            "gpu_milli": gpu_milli,
            "memory_bytes": 1,
            "work_s": work_s,
        }
    )
    kernel, reference = (
        simulate(
            Cluster((node,), (1,), outages),
            [JobClass("a")],
            trace,
            policy or FirstComeFirstServed(),
            reference=reference,
        )
        for reference in (False, True)
    )
    assert kernel.simulator == "kernel" and kernel.jobs is not None
    pd.testing.assert_frame_equal(kernel.jobs, reference.jobs)
    pd.testing.assert_frame_equal(kernel.nodes, reference.nodes)
    return kernel.jobs.set_index("job")["start_s"].sort_index().tolist(), kernel


@pytest.mark.parametrize("policy", [FirstComeFirstServed(), Kubernetes(1, [1])])
def test_three_jobs_of_0_6_gpu_do_not_start_on_two_gpus(policy: Policy) -> None:
    starts, _ = schedule([(0.0, 600, 5.0)] * 3, policy=policy)
    assert starts == [0.0, 0.0, 5.0]


def test_a_share_goes_where_the_least_room_is_left() -> None:
    # The second job joins the first one's GPU, so the third one finds a whole one.
    starts, _ = schedule([(0.0, 300, 5.0), (0.0, 600, 5.0), (0.0, 1000, 5.0)])
    assert starts == [0.0, 0.0, 0.0]
    # GPUs with 0.5 and 0.3 left: 0.3 fits the second, so 0.5 still fits the first.
    jobs = [(0.0, 500, 9.0), (0.0, 700, 9.0), (1.0, 300, 5.0), (1.0, 500, 5.0)]
    assert schedule(jobs)[0] == [0.0, 0.0, 1.0, 1.0]


def test_of_gpus_with_equal_room_the_first_is_taken() -> None:
    # The third job is with the first, which leaves at 2 s: no GPU is whole before 9 s.
    jobs = [(0.0, 600, 2.0), (0.0, 600, 9.0), (1.0, 400, 9.0), (1.0, 1000, 1.0)]
    assert schedule(jobs)[0] == [0.0, 0.0, 1.0, 9.0]


def test_more_than_a_gpu_takes_whole_gpus() -> None:
    three = replace(NODE, gpu_milli=3000)
    starts, result = schedule([(0.0, 1500, 4.0), (0.0, 1500, 4.0), (0.0, 1000, 4.0)], three)
    assert starts == [0.0, 4.0, 0.0]
    # Two GPUs are held twice for 4 s, one once; power is by demand.
    assert result.nodes["busy_gpu_s"].tolist() == [20.0]
    cores_j = 3 * 4.0 * 40.0 / 64
    assert result.nodes["active_energy_j"][0] == pytest.approx(cores_j + 4.0 * 4.0 * 100.0)


def test_whole_gpus_wait_for_wholly_free_ones() -> None:
    # Free GPU time of 1.8 is on two GPUs in use.
    jobs = [(0.0, 600, 2.0), (0.0, 600, 4.0), (0.0, 1000, 1.0), (0.0, 2000, 1.0)]
    assert schedule(jobs)[0] == [0.0, 0.0, 2.0, 4.0]


def test_shares_are_rounded_up_to_slices() -> None:
    # 0.4 of a GPU is 3 of 7 slices, 0.15 is 2.
    sliced = replace(NODE, gpu_milli=1000, gpu_slices=7)
    jobs = [(0.0, 400, 5.0), (0.0, 400, 5.0), (0.0, 150, 5.0), (0.0, 142, 5.0)]
    assert schedule(jobs, sliced)[0] == [0.0, 0.0, 5.0, 0.0]
    assert schedule(jobs, replace(sliced, gpu_slices=1000))[0] == [0.0, 0.0, 0.0, 5.0]
    assert schedule(jobs, replace(sliced, gpu_slices=1))[0] == [0.0, 5.0, 10.0, 15.0]


def test_the_job_is_evicted_whose_gpus_make_room() -> None:
    # The 0.5 of a less important job and the 0.5 free are of two GPUs.
    jobs = [(0.0, gpu_milli, 9.0) for gpu_milli in (1000, 500, 200, 400, 400)]
    starts, result = schedule(
        [*jobs, (1.0, 1000, 1.0)],
        replace(NODE, gpu_milli=3000),
        Priority("repeat"),
        priority=[1, 0, 0, 0, 0, 2],
    )
    assert result.jobs is not None
    assert result.jobs.set_index("job")["evictions"].sort_index().tolist() == [1, 0, 0, 0, 0, 0]
    assert starts[-1] == 1.0


def test_fragmentation_is_the_free_time_on_partly_used_gpus() -> None:
    # 0 to 2 s: 0.75 and 1 free; to 4 s: 0.75 and none; to 5 s: two free. Down from 5 to 8 s.
    jobs = [(0.0, 250, 4.0), (2.0, 1000, 2.0), (9.0, 2000, 1.0)]
    _, result = schedule(jobs, outages=(Outage(0, 5.0, 8.0),))
    nodes = result.nodes.iloc[0]
    fragmented, free, busy = 4 * 0.75, 2 * 1.75 + 2 * 0.75 + 2.0 + 2.0, 4 * 0.25 + 2.0 + 2.0
    assert (nodes["fragmented_gpu_s"], nodes["free_gpu_s"]) == pytest.approx((fragmented, free))
    assert nodes["busy_gpu_s"] == pytest.approx(busy)
    assert result.total.gpu_fragmentation == pytest.approx(fragmented / free)
    assert result.total.gpu_utilisation == pytest.approx(busy / (busy + free))


def test_without_gpus_there_is_no_figure_of_them() -> None:
    _, result = schedule([(0.0, 0, 1.0)], replace(NODE, gpu_milli=0))
    assert (result.total.gpu_utilisation, result.total.gpu_fragmentation) == (None, None)
    assert result.nodes[["busy_gpu_s", "free_gpu_s", "fragmented_gpu_s"]].eq(0.0).all(axis=None)


@pytest.mark.parametrize("gpu_milli", [2001, 2500])
def test_a_job_that_needs_more_gpus_than_a_node_has_is_told(gpu_milli: int) -> None:
    with pytest.raises(UserError, match=f"job 0 .* {gpu_milli} mGPU"):
        schedule([(0.0, gpu_milli, 1.0)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu_milli": 1500}, "1.5 GPUs, expected whole ones"),
        ({"gpu_milli": 64_000}, "64 GPUs, expected .* at most 63"),
        ({"gpu_slices": 0}, "gpu_slices must be 1 to 1000"),
        ({"gpu_slices": 1001}, "gpu_slices must be 1 to 1000"),
    ],
)
def test_impossible_gpus_are_told(change: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(NODE, **change)


def test_a_node_may_have_63_gpus() -> None:
    node = replace(NODE, gpu_milli=63_000)
    assert schedule([(0.0, 63_000, 2.0), (0.0, 1, 1.0)], node)[0] == [0.0, 2.0]
    assert schedule([(0.0, 1000, 2.0)] * 62 + [(0.0, 900, 2.0), (1.0, 100, 1.0)], node)[0][-1] == 1
