"""The policies of batch queues: their orders, their choice of nodes, and files of users."""

from pathlib import Path

import pytest
from small_queues import jobs_of, node_type, nodes

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.errors import UserError

ONE_CORE = nodes(1, 1)


def starts(text: str, rows: list[dict[str, object]], cluster: Cluster = ONE_CORE) -> list[float]:
    schedule = simulate_batch(jobs_of(rows), cluster, build_batch_policy(text)[1]).schedule
    return schedule["start_s"].tolist()


def test_the_shortest_estimate_comes_first() -> None:
    rows = [{}, {"submit_s": 1.0, "run_s": 30.0}, {"submit_s": 2.0, "run_s": 5.0}]
    assert starts("shortest", rows) == [0.0, 15.0, 10.0]
    assert starts("fcfs", rows) == [0.0, 10.0, 40.0]


def test_the_user_who_used_least_comes_first() -> None:
    rows = [
        {"user": "ada", "run_s": 1000.0},
        {"user": "ada", "submit_s": 1.0},
        {"user": "bob", "submit_s": 2.0},
    ]
    assert starts("fair_share", rows) == [0.0, 1010.0, 1000.0]


def test_use_is_forgotten() -> None:
    rows = [
        {"user": "ada", "run_s": 1000.0},
        {"user": "bob", "submit_s": 1000.0, "run_s": 400.0},
        {"user": "ada", "submit_s": 1001.0},
        {"user": "bob", "submit_s": 1002.0},
    ]
    # Orders are renewed after 300 s; with a half-life of 10 s, 1,000 s of use are nothing by then.
    assert starts("fair_share", rows)[2:] == [1410.0, 1400.0]
    assert starts(f"fair_share:half_life_days={10 / 86400}", rows)[2:] == [1400.0, 1410.0]


@pytest.mark.parametrize(
    ("factor", "first"), [("age", 1), ("fair_share", 2), ("size", 3), ("priority", 4)]
)
def test_each_factor_decides_alone(factor: str, first: int) -> None:
    """On three cores, no two of the waiting jobs run together."""
    others = {"age", "fair_share", "size", "priority"} - {factor}
    rows = [
        {"user": "ada", "run_s": 100.0, "parts": 3},
        {"user": "ada", "submit_s": 1.0, "parts": 2},
        {"user": "bob", "submit_s": 2.0, "parts": 2},
        {"user": "ada", "submit_s": 3.0, "parts": 3},
        {"user": "ada", "submit_s": 4.0, "parts": 2, "priority": 9},
    ]
    weights = [f"{factor}=1", *(f"{name}=0" for name in sorted(others))]
    begun = starts(":".join(["multifactor", *weights]), rows, nodes(1, 3))
    assert [job for job, start_s in enumerate(begun) if start_s == 100.0] == [first]


def test_weights_order_waiting_jobs_again_as_they_age() -> None:
    rows = [
        {"run_s": 100_000.0},
        {"submit_s": 1.0},
        {"submit_s": 90_000.0, "priority": 1},
    ]
    # A day is a seventh of the age's weight, more than that of the priority.
    assert starts("multifactor:age=1000:priority=100:size=0:fair_share=0", rows)[1:] == [
        100_000.0,
        100_010.0,
    ]
    assert starts("multifactor:age=1:priority=100:size=0:fair_share=0", rows)[1:] == [
        100_010.0,
        100_000.0,
    ]


def test_factors_are_relative_to_all_waiting_jobs() -> None:
    rows = [
        {"run_s": 1000.0},
        {"submit_s": 1.0, "priority": 500},
        {"submit_s": 998.0, "priority": 1},  # alone it would have the largest priority
    ]
    assert starts("multifactor:age=0:fair_share=0:size=0:priority=1", rows)[1:] == [1000.0, 1010.0]


def test_parts_without_gpus_are_not_as_fast_as_gpus() -> None:
    cluster = Cluster(
        (node_type("epyc", 4, speed=2.0), node_type("gpu_a40", 8, gpus=8, speed=9.0)), (1, 1)
    )
    rows = [{"gpu_milli": 1000}, {"cpu_milli": 8000}, {"cpu_milli": 4000}]
    result = simulate_batch(jobs_of(rows), cluster, build_batch_policy("any_fit")[1])
    run_s = (result.schedule["end_s"] - result.schedule["start_s"]).tolist()
    assert run_s == [10.0, 10.0, 10.0]


def test_the_makespan_begins_with_the_first_job_that_has_room() -> None:
    rows = [{"parts": 9}, {"submit_s": 100.0}]
    result = simulate_batch(jobs_of(rows), ONE_CORE, build_batch_policy("easy")[1])
    assert (result.makespan_s, result.utilisation["cpu"]) == (10.0, 1.0)


@pytest.mark.parametrize("interval_s", [33.3, 59.9])
def test_an_interval_that_no_float_hits_ends(tmp_path: Path, interval_s: float) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"{MINE}\nLastFirst.reorder_s = {interval_s}")
    rows = [{"run_s": 2e5}, {}, {"submit_s": 0.2}]  # many intervals
    assert starts(str(file), rows) == [0.0, 2e5 + 10.0, 2e5]


TWO_TYPES = Cluster(
    (node_type("fast", 4, speed=2.0, watts=400.0), node_type("frugal", 4, watts=50.0)), (1, 1)
)


@pytest.mark.parametrize(("weight", "chosen"), [(0.0, "fast"), (1.0, "frugal")])
def test_heats_weighs_energy_and_performance(weight: float, chosen: str) -> None:
    policy = build_batch_policy(f"heats:energy_weight={weight}")[1]
    schedule = simulate_batch(jobs_of([{}]), TWO_TYPES, policy).schedule
    assert schedule["node_type"].tolist() == [chosen]


def test_heats_chooses_the_level_too() -> None:
    levels = (Level(0.5, 40.0), Level(0.9, 60.0), Level(1.0, 100.0))
    capped = Cluster((NodeType("node", 1000, 1 << 40, 0.0, levels),), (1,))
    ends = {
        weight: simulate_batch(
            jobs_of([{}]),
            capped,
            build_batch_policy(f"heats:choose_level=1:energy_weight={weight}")[1],
        ).schedule[["end_s", "energy_j"]].iloc[0].tolist()
        for weight in (0, 0.5, 1)
    }  # fmt: skip
    # 80 J for half the speed, 66.7 J for 0.9 of it.
    assert ends[0] == [10.0, 1000.0]
    assert ends[0.5] == ends[1] == pytest.approx([10.0 / 0.9, 600.0 / 0.9])


def test_run_time_and_energy_are_those_of_the_node_type() -> None:
    policy = build_batch_policy("heats:energy_weight=1")[1]
    result = simulate_batch(jobs_of([{"parts": 2}]), TWO_TYPES, policy)
    (row,) = result.schedule.to_dict("records")
    # The reference is the first type, of twice the speed: 20 s, half of 50 W.
    assert (row["end_s"], row["energy_j"]) == (20.0, 500.0)
    assert row["bounded_slowdown"] == 2.0
    assert result.active_energy_j == 500.0


def test_a_job_that_only_two_types_together_could_run_is_left_out() -> None:
    result = simulate_batch(jobs_of([{"parts": 5}, {}]), TWO_TYPES, build_batch_policy("easy")[1])
    assert (result.left_out, result.schedule["job"].tolist()) == (1, [1])


def test_a_gpu_type_runs_where_its_name_is() -> None:
    cluster = Cluster((node_type("gpu_v100", 4, gpus=1), node_type("gpu_a40", 4, gpus=1)), (1, 1))
    rows = [{"gpu_milli": 1000, "gpu_type": "A40"}, {"gpu_milli": 1000}, {"gpu_type": "tpu"}]
    result = simulate_batch(jobs_of(rows), cluster, build_batch_policy("easy")[1])
    assert result.schedule["node_type"].tolist() == ["gpu_a40", "gpu_v100"]
    assert result.left_out == 1
    sizes = Cluster((node_type("8c1gpu", 8, gpus=1),), (1,))
    assert starts("easy", rows, sizes) == [0.0, 10.0, 0.0]


def test_shares_of_gpus_live_on_one_gpu_each() -> None:
    rows = [{"gpu_milli": 600}] * 3 + [{"gpu_milli": 1000, "submit_s": 1.0}]
    begun = starts("easy", rows, nodes(1, 8, gpus=2))
    assert begun == [0.0, 0.0, 10.0, 10.0]


def test_a_longer_run_than_the_estimate_counts_as_the_estimate() -> None:
    rows = [{"run_s": 20.0, "estimate_s": 5.0}]
    result = simulate_batch(jobs_of(rows), ONE_CORE, build_batch_policy("easy")[1])
    assert (result.raised_estimates, result.makespan_s) == (1, 20.0)


def test_idle_nodes_sleep_and_jobs_wait_for_them_to_wake() -> None:
    kind = NodeType("node", 1000, 1 << 40, 100.0, (Level(1.0, 0.0),))
    rows = [{}, {"submit_s": 100.0}, {"submit_s": 150.0}]
    policy = build_batch_policy("easy")[1]
    sleep = Sleep(after_s=60.0, wake_s=5.0, power_share=0.1)
    result = simulate_batch(jobs_of(rows), Cluster((kind,), (2,)), policy, sleep=sleep)
    # The first node is idle from 10 to 100 and 115 to 150; the second one is never used.
    assert result.schedule["start_s"].tolist() == [0.0, 105.0, 150.0]
    assert result.makespan_s == 160.0
    asleep_s = (100.0 - 10.0 - 60.0) + (160.0 - 60.0)
    assert result.idle_energy_j == pytest.approx(100.0 * (2 * 160.0 - 0.9 * asleep_s))


def test_nothing_has_room() -> None:
    with pytest.raises(UserError, match="no job has room"):
        starts("easy", [{"parts": 2}])


MINE = """
from trimtab.batch.policies.base import Backfill, BatchPolicy

class LastFirst(BatchPolicy):
    backfill = Backfill.NONE
    def __init__(self, sign): self.sign = sign
    def order(self, jobs, now_s): return self.sign * jobs.submit_s

def build(*, sign=-1.0): return LastFirst(sign)
"""


def test_a_policy_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    rows = [{}, {"submit_s": 1.0}, {"submit_s": 2.0}]
    assert starts(str(file), rows) == [0.0, 20.0, 10.0]
    assert starts(f"{file}:sign=1", rows) == [0.0, 10.0, 20.0]
    assert build_batch_policy(f"{file}:sign=1")[0] == "mine:sign=1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eazy", "'eazy' given, expected one of any_fit, conservative, earliest_deadline, easy"),
        ("heats:weight=1", "weight given; the keys of heats are: energy_weight"),
        ("heats:energy_weight=much", "expected key=number"),
        ("heats:energy_weight=2", "expected 0 to 1"),
        ("multifactor:age=nan", "expected key=number"),
        ("./none.py", "no such file"),
        ("base", "'base' given, expected one of"),
    ],
)
def test_a_wrong_policy_is_named(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace(".", r"\.")):
        build_batch_policy(text)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "no function build"),
        ("def build(): return 3", "expected a BatchPolicy"),
        (MINE.replace("self.sign * jobs.submit_s", "jobs.submit_s[1:]"), "one for each waiting"),
        (MINE.replace("self.sign * jobs.submit_s", "jobs.submit_s * float('nan')"), "no number"),
        (f"{MINE}\nLastFirst.order = lambda *_: 1 / 0", r"order: ZeroDivisionError.*mine\.py:"),
        (f"{MINE}\nLastFirst.backfill = 'easy'", "expected one of Backfill.NONE"),
        (f"{MINE}\nLastFirst.reorder_s = 0", "reorder_s: 0, expected 1 s or more"),
        (f"{MINE}\nLastFirst.cost = lambda *_: [[1.0, 2.0]]", "each kind of job and node type"),
        (f"{MINE}\nLastFirst.level = lambda *_: [[1]]", "below the levels there are"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, source: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source)
    with pytest.raises(UserError, match=said):
        starts(str(file), [{}, {}])
