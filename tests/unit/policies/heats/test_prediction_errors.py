"""The errors of predictions against sums done by hand."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.facts import Asked, PolicyInputs, ProbeRun
from trimtab.policies.heats.errors import mean_error_pct, prediction_errors, probing_errors
from trimtab.policies.heats.predictions import fit
from trimtab.records.figures import PredictionErrors

SOME = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=20)


def node(name: str) -> NodeType:
    return NodeType(name, 4000, 1 << 30, 0.0, (Level(1.0, 10.0),))


FACTS = PolicyInputs(
    Cluster((node("fast"), node("slow")), (1, 2)),
    [JobClass("open"), JobClass("secure", protection={"fast": 2.0, "slow": 1.0})],
    [Asked(1.0, 1.0, 1.0), Asked(1.0, 1.0, 1.0)],
)
# On every request 10 s and 50 J on the fast node, 20 s and 40 J on the slow ones.
MODEL = fit(
    {
        name: [ProbeRun(name, cores, memory, 0, *cost) for cores in (1, 2) for memory in (1, 2)]
        for name, cost in (("fast", (10.0, 50.0)), ("slow", (20.0, 40.0)))
    }
)


def finished(*rows: tuple[object, ...]) -> pd.DataFrame:
    names = ["job_class", "node", "execution_s", "set_up_s", "energy_j", "evictions", "migrations"]
    return pd.DataFrame(list(rows), columns=names).assign(level=0)


def test_errors_are_of_each_class_and_type_of_node() -> None:
    jobs = finished(
        ("open", 0, 11.0, 3.0, 40.0, 0, 0),
        ("open", 0, 20.0, 0.0, 50.0, 0, 0),
        ("open", 1, 16.0, 0.0, 40.0, 0, 0),
        ("open", 2, 40.0, 0.0, 80.0, 0, 0),
        ("secure", 0, 20.0, 0.0, 100.0, 0, 0),
        ("open", 0, 99.0, 0.0, 1.0, 1, 0),
        ("open", 0, 99.0, 0.0, 1.0, 0, 1),
        ("open", 0, 5.0, 5.0, 1.0, 0, 0),
    )
    fast, slow, secure = prediction_errors(MODEL, FACTS, jobs)
    assert (fast.task, fast.node_type, fast.runs) == ("open", "fast", 2)
    assert (fast.run_time_s, fast.energy_j) == (14.0, 45.0)
    assert fast.power_w == pytest.approx((40 / 8 + 50 / 20) / 2)
    # 10 s for 8 and 20 s; 50 J for 40 and 50 J; 5 W for 5 and 2.5 W.
    assert fast.run_time_error_pct == pytest.approx(100 * (2 / 8 + 10 / 20) / 2)
    assert fast.energy_error_pct == pytest.approx(100 * (10 / 40) / 2)
    assert fast.power_error_pct == pytest.approx(100 * (2.5 / 2.5) / 2)
    # Both slow nodes are of one type: 20 s for 16 and 40 s.
    assert (slow.node_type, slow.runs) == ("slow", 2)
    assert slow.run_time_error_pct == pytest.approx(100 * (4 / 16 + 20 / 40) / 2)
    # The enclave's cost is known: twice the time, at the same power.
    assert (secure.task, secure.node_type) == ("secure", "fast")
    assert secure.run_time_error_pct == pytest.approx(0, abs=1e-9)
    assert secure.power_error_pct == pytest.approx(0, abs=1e-9)


def test_energy_is_without_the_cold_start() -> None:
    cold = replace(FACTS, job_classes=[JobClass("open", cold_start_s=2.0), FACTS.job_classes[1]])
    # A pull of 3 s draws nothing, the cold start of 2 s 10 J, the work of 10 s 50 J.
    (row,) = prediction_errors(MODEL, cold, finished(("open", 0, 15.0, 5.0, 60.0, 0, 0)))
    assert (row.run_time_s, row.energy_j, row.power_w) == pytest.approx((10.0, 50.0, 5.0))
    assert row.energy_error_pct == pytest.approx(0, abs=1e-9)
    assert row.power_error_pct == pytest.approx(0, abs=1e-9)


def probe(task: str, cores: int, wall_s: float, node_type: str = "a") -> ProbeRun:
    return ProbeRun(node_type, cores, 1.0, 0, wall_s, 3.0 * wall_s, task=task)


def errors_of(probes: list[ProbeRun]) -> list[PredictionErrors]:
    return list(probing_errors(probes, regressor="linear", features=["cores"]))


def test_a_probe_is_predicted_from_the_others() -> None:
    line = [probe("sum", cores, 10.0 + 2 * cores) for cores in range(1, 8)]
    (right,) = errors_of(line)
    assert (right.of, right.task, right.runs) == ("probes", "sum", 7)
    assert right.run_time_error_pct == pytest.approx(0, abs=1e-9)
    assert right.power_w == pytest.approx(3.0)
    # A run at 10 cores that takes 60 s, not 30 s: the others predict half of it.
    outlier, rest = errors_of([*line, probe("matmul", 10, 60.0)])
    assert (outlier.task, outlier.runs) == ("matmul", 1)
    assert outlier.run_time_error_pct == pytest.approx(50)
    assert outlier.energy_error_pct == pytest.approx(50)
    assert outlier.power_error_pct == pytest.approx(0, abs=1e-9)
    assert rest.run_time_error_pct > 1  # it pulls the line away from them


def test_only_real_probes_of_the_highest_level_count() -> None:
    line = [probe("sum", cores, 10.0 + 2 * cores) for cores in range(1, 8)]
    slow = [replace(run, level=0, wall_s=99.0) for run in line]
    (row,) = errors_of([replace(run, level=1) for run in line] + slow)
    assert row.runs == 7 and row.run_time_error_pct == pytest.approx(0, abs=1e-9)
    assert errors_of([replace(run, task="") for run in line]) == []
    assert errors_of(line[:2]) == []  # one is too few to predict the other


def test_no_job_that_stayed_is_no_row() -> None:
    assert list(prediction_errors(MODEL, FACTS, finished(("open", 0, 9.0, 0.0, 1.0, 0, 2)))) == []


@given(SOME, st.floats(0.01, 1e4), st.floats(0.1, 100))
def test_an_error_has_no_unit(values: list[float], predicted: float, unit: float) -> None:
    actual, same = pd.Series(values), pd.Series([predicted] * len(values))
    error = mean_error_pct(same, actual)
    assert error >= 0 and mean_error_pct(actual, actual) == 0
    assert mean_error_pct(same * unit, actual * unit) == pytest.approx(error, rel=1e-6, abs=1e-9)
