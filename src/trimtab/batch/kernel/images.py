"""Start-up from images: a node that has run a job's image starts the job warm."""

from typing import Any

from trimtab.batch.kernel.layout import NIL, BatchState
from trimtab.clusters.compiled import lean


@lean
def start_image(s: BatchState, job: Any, node: int, wake_s: float) -> float:
    """Pull or start a job's image on a node once this is awake; return how long the job waits.

    A job that comes while another one's pull goes on waits for its end.
    """
    if job.image == NIL:
        return wake_s
    image, now_s = s.images[job.image], s.clock[0].now_s
    ready_s = s.ready_s[node, job.image]
    if ready_s - now_s > wake_s + image.cold_s:  # infinite: not there
        job.pulls += 1
        start_s = wake_s + image.cold_s
        s.ready_s[node, job.image] = now_s + start_s
    else:
        start_s = max(wake_s + image.warm_s, ready_s - now_s)
    job.startup_s = max(job.startup_s, start_s - wake_s)
    return float(start_s)


@lean
def longest_start_s(s: BatchState, job: Any) -> float:
    """Return how long a job waits for its image at most."""
    if job.image == NIL:
        return 0.0
    image = s.images[job.image]
    return float(max(image.cold_s, image.warm_s))
