"""Workloads of Kueue, each a job: its sets of pods are admitted together.

https://kueue.sigs.k8s.io/docs/concepts/workload/: spec.podSets (count, template), queueName,
priority, maximumExecutionTimeSeconds; status.conditions QuotaReserved, Admitted, Finished.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from trimtab.batch.readers.kubernetes.demands import demand_of
from trimtab.batch.readers.kubernetes.parts import (
    NEVER_STARTED,
    STILL_RUNNING,
    Job,
    equal_parts,
    image_of,
    time_s,
)


def job_of(item: Mapping[str, Any], skipped: Counter[str], remarks: Counter[str]) -> Job | None:
    """Return the job of a finished Workload; None for others, counted in `skipped`.

    Raises LookupError, TypeError, ValueError, AttributeError for what is no Workload.
    """
    metadata, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    since_s = {
        condition["type"]: time_s(condition.get("lastTransitionTime"))
        for condition in status.get("conditions") or ()
        if condition.get("status") == "True"
    }
    start_s = since_s.get("Admitted", since_s.get("QuotaReserved", math.nan))
    if math.isnan(start_s):
        skipped[NEVER_STARTED] += 1
        return None
    if "Finished" not in since_s:
        skipped[STILL_RUNNING] += 1
        return None
    # Partial admission starts fewer pods than asked for.
    admission = (status.get("admission") or {}).get("podSetAssignments") or ()
    admitted = {each.get("name"): each.get("count") for each in admission}
    sets = [
        (
            demand_of(pod_set["template"]["spec"]),
            float(admitted.get(pod_set.get("name")) or pod_set.get("count", 1)),
        )
        for pod_set in spec["podSets"]
    ]
    most = max(spec["podSets"], key=lambda each: demand_of(each["template"]["spec"]).gpu_milli)
    demand, parts = equal_parts([each for each in sets if each[1] > 0], remarks)
    namespace = str(metadata.get("namespace", "default"))
    return Job(
        name=f"{namespace}/{metadata['name']}",
        submit_s=time_s(metadata.get("creationTimestamp")),
        start_s=start_s,
        run_s=since_s["Finished"] - start_s,
        estimate_s=float(spec.get("maximumExecutionTimeSeconds") or math.nan),
        parts=parts,
        cpu_milli=demand.cpu_milli,
        gpu_milli=demand.gpu_milli,
        memory_bytes=demand.memory_bytes,
        gpu_type=demand.gpu_type,
        user=namespace,
        queue=str(spec.get("queueName", "")),
        priority=float(spec.get("priority") or 0),
        image=image_of(most["template"]["spec"]),
    )
