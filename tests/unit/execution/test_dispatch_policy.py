"""Which policies can drive real jobs, and how they do."""

import pytest

from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.execution.dispatch_policy import check_drives, machine_facts
from trimtab.policies.registry import build_policy

PRIORITIES = {"high": 1, "low": 0}


def check(kind: str, **parameters: object) -> None:
    policy = build_policy(kind, parameters, machine_facts(PRIORITIES))
    check_drives(policy, PolicyConfig("given", kind, parameters=parameters), PRIORITIES)


def test_queues_by_priority_drive_real_jobs() -> None:
    check("priority", preemption="repeat")
    check("priority")
    check("dias", drop_ratio={"low": 0.2}, timeout_s={"high": 65, "low": None}, budget_s=None)


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
        check(kind, **parameters)
