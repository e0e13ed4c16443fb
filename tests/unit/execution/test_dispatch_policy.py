"""Which policies can drive real jobs, and how they do."""

import math

import pytest

from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.execution.dispatch_policy import dispatch_policy, machine_facts
from trimtab.execution.job_queue import DispatchPolicy
from trimtab.policies.registry import build_policy

PRIORITIES = {"high": 1, "low": 0}


def driven(kind: str, **parameters: object) -> DispatchPolicy:
    config = PolicyConfig("given", kind, parameters=parameters)
    policy = build_policy(kind, parameters, machine_facts(PRIORITIES))
    return dispatch_policy(policy, config, PRIORITIES)


def test_queues_by_priority_drive_real_jobs() -> None:
    assert driven("priority", preemption="repeat") == DispatchPolicy(preemptive=True)
    assert driven("priority") == DispatchPolicy(preemptive=False)
    dias = driven(
        "dias", drop_ratio={"low": 0.2}, timeout_s={"high": 65, "low": None}, budget_s=None
    )
    assert dias == DispatchPolicy(
        preemptive=False, drop_ratio={0: 0.2}, sprint_timeout_s={1: 65}, budget_s=math.inf
    )
    limited = driven("dias", budget_s=9.0, replenish_s_per_s=0.1)
    assert (limited.budget_s, limited.replenish_s_per_s) == (9.0, 0.1)


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        *(
            (kind, {}, f"policy given: kind {kind}: real jobs are driven by queues by priority")
            for kind in ("heats", "kubernetes", "fcfs")
        ),
        ("priority", {"preemption": "resume"}, "cannot go on"),
        ("dias", {"drop_ratio": {"lov": 0.1}}, "drop_ratio: lov, expected high, low"),
        ("dias", {"timeout_s": {"hihg": 1}}, "timeout_s: hihg, expected high, low"),
    ],
)
def test_what_cannot_drive_real_jobs_is_refused(
    kind: str, parameters: dict[str, object], expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        driven(kind, **parameters)
