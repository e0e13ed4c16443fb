"""What a policy says of itself holds for its very class: a subclass may decide otherwise."""

import pytest

from trimtab.policies.base import NodeState, PendingTask, Placement, Policy
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats_as_released import HeatsAsReleased
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.layout import FIRST_FIT, HEATS, HEATS_AS_RELEASED, KUBERNETES
from trimtab.policies.priority import Priority
from trimtab.queueing.poisson_priority import Discipline

KNOWN = {
    FirstComeFirstServed: (FIRST_FIT, lambda: FirstComeFirstServed()),
    Priority: (FIRST_FIT, lambda: Priority()),
    Dias: (FIRST_FIT, lambda: Dias()),
    Heats: (HEATS, lambda: Heats([[[1.0]]], [[[1.0]]], [1])),
    HeatsAsReleased: (HEATS_AS_RELEASED, lambda: HeatsAsReleased([1.0], [1.0], [1])),
    Kubernetes: (KUBERNETES, lambda: Kubernetes(1, [1])),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_the_kernel_and_the_formulas_know_a_class_and_not_its_subclasses(
    kind: type[Policy],
) -> None:
    rule, make = KNOWN[kind]
    policy = make()
    assert policy.placement_rule == rule

    class Plain(kind):
        """It overrides nothing that is seen here, but may override what `place` asks."""

    class Further(Plain):
        pass

    for subclass in (Plain, Further):
        policy.__class__ = subclass
        assert policy.placement_rule is None
        assert policy.discipline() is None


def test_a_subclass_may_say_that_it_decides_as_its_parent() -> None:
    class Named(Priority):
        placement_rule = Priority.placement_rule
        discipline = Priority.discipline

    assert Named().placement_rule == FIRST_FIT
    assert Named("repeat").discipline() is Discipline.PREEMPTIVE_REPEAT


def test_the_discipline_of_each_preemption() -> None:
    disciplines = [
        Discipline.NON_PREEMPTIVE,
        Discipline.PREEMPTIVE_REPEAT,
        Discipline.PREEMPTIVE_RESAMPLE,
        Discipline.PREEMPTIVE_RESUME,
    ]
    policies = [Priority(preemption) for preemption in ("none", "repeat", "resample", "resume")]
    assert [policy.discipline() for policy in policies] == disciplines
    assert [(policy.evicts, policy.resamples, policy.resumes) for policy in policies] == [
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, False, True),
    ]
    assert Dias().discipline() is Discipline.NON_PREEMPTIVE
    assert FirstComeFirstServed().discipline() is None


def test_a_plain_policy_drops_sprints_and_changes_nothing() -> None:
    class First(Policy):
        def place(self, task: PendingTask, nodes: list[NodeState]) -> Placement | None:
            return Placement(0, self.level)

    policy = First()
    assert (policy.placement_rule, policy.discipline(), policy.level) == (None, None, -1)
    assert dict(policy.drop_ratio) == dict(policy.timeout_s) == {}
    with pytest.raises(TypeError):
        policy.drop_ratio["low"] = 0.5  # type: ignore[index]
