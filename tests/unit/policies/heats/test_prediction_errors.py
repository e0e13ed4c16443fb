"""The errors of predictions against sums done by hand."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.facts import Asked, PolicyInputs, ProbeRun
from trimtab.policies.heats.errors import mean_error_pct, prediction_errors
from trimtab.policies.heats.predictions import fit

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
    assert (fast.job_class, fast.node_type, fast.jobs) == ("open", "fast", 2)
    assert (fast.run_time_s, fast.energy_j) == (14.0, 45.0)
    assert fast.power_w == pytest.approx((40 / 8 + 50 / 20) / 2)
    # 10 s for 8 and 20 s; 50 J for 40 and 50 J; 5 W for 5 and 2.5 W.
    assert fast.run_time_error_pct == pytest.approx(100 * (2 / 8 + 10 / 20) / 2)
    assert fast.energy_error_pct == pytest.approx(100 * (10 / 40) / 2)
    assert fast.power_error_pct == pytest.approx(100 * (2.5 / 2.5) / 2)
    # Both slow nodes are of one type: 20 s for 16 and 40 s.
    assert (slow.node_type, slow.jobs) == ("slow", 2)
    assert slow.run_time_error_pct == pytest.approx(100 * (4 / 16 + 20 / 40) / 2)
    # The enclave's cost is known: twice the time, at the same power.
    assert (secure.job_class, secure.node_type) == ("secure", "fast")
    assert secure.run_time_error_pct == pytest.approx(0, abs=1e-9)
    assert secure.power_error_pct == pytest.approx(0, abs=1e-9)


def test_no_job_that_stayed_is_no_row() -> None:
    assert list(prediction_errors(MODEL, FACTS, finished(("open", 0, 9.0, 0.0, 1.0, 0, 2)))) == []


@given(SOME, st.floats(0.01, 1e4), st.floats(0.1, 100))
def test_an_error_has_no_unit(values: list[float], predicted: float, unit: float) -> None:
    actual, same = pd.Series(values), pd.Series([predicted] * len(values))
    error = mean_error_pct(same, actual)
    assert error >= 0 and mean_error_pct(actual, actual) == 0
    assert mean_error_pct(same * unit, actual * unit) == pytest.approx(error, rel=1e-6, abs=1e-9)
