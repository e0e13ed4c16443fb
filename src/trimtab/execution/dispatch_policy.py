"""Policies that can drive queues of real jobs, one job at a time on the whole machine."""

import os
from collections.abc import Mapping

import psutil

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.facts import Asked, PolicyInputs, probe_nodes

_MACHINE = "this_machine"


def check_drives(policy: Policy, config: PolicyConfig, priorities: Mapping[str, int]) -> None:
    """Check that `policy`, built from `config`, can drive real jobs; `priorities` by class.

    Raises UserError for a policy that is no priority queue (unlike `priority` and `dias`), for
    preemptive resume, and for an unknown class.
    """
    if policy.discipline() is None:
        raise UserError(
            f"policy {config.name}: kind {config.kind}: real jobs are driven by queues by "
            "priority, such as the kinds priority and dias"
        )
    if policy.resumes:
        raise UserError(
            f"policy {config.name}: preemption: an evicted command cannot go on: repeat"
        )
    for key, by_class in (("drop_ratio", policy.drop_ratio), ("timeout_s", policy.timeout_s)):
        unknown = ", ".join(sorted(set(by_class) - set(priorities)))
        if unknown:
            expected = ", ".join(priorities)
            raise UserError(f"policy {config.name}: {key}: {unknown}, expected {expected}")


def machine_facts(priorities: Mapping[str, int]) -> PolicyInputs:
    """Return the inputs of a policy for this machine: its size, and the classes of jobs."""
    cores, memory_bytes = os.cpu_count() or 1, psutil.virtual_memory().total
    levels = (Level(speed=1.0, active_w=1.0),)
    cluster = Cluster((NodeType(_MACHINE, 1000 * cores, memory_bytes, 0.0, levels),), (1,))
    job_classes = [JobClass(name, priority) for name, priority in priorities.items()]
    asked = [Asked(cores=cores, memory_gib=1.0, work_s=1.0) for _ in job_classes]
    return PolicyInputs(cluster, job_classes, asked, probe_nodes(cluster, job_classes, asked))
