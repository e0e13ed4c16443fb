"""The records of the simulator of batch queues (native/batch_queues), and what their fields mean.

Times are seconds since the first submission. Resources of a node are a row of whole numbers: free
thousandths of a core, free bytes of memory, then free thousandths of each GPU.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CPU, MEMORY, GPUS = 0, 1, 2  # columns of a node's row; GPUS is the first GPU
WHOLE_GPU = 1000
NIL = -1
NO_CAP = 1 << 62  # of power
# Why the simulator returns: it is done; it needs space for allocations; jobs need their order.
# a node is reclaimed; a job was interrupted too often. GO_ON: it does not.
DONE, NEED_SPACE, NEED_ORDER, GO_ON, NODE_RECLAIMED, STUCK = range(6)
# What interrupted a run.
BY_RECLAIM, BY_PRIORITY, BY_ROUND = range(3)
MOST_INTERRUPTIONS = 10_000  # of a job: it would never end


def _record(**fields: str) -> np.dtype[np.void]:
    """Return the record of fields, given as a text of names for each type."""
    return np.dtype(
        [(name, kind) for kind, names in fields.items() for name in names.split()], align=True
    )


# A job. `run_s` and `estimate_s`: what is left at its next start, at `recorded_parts`; `kind`: of
# its parts; `ends_s`: its end by the estimate; `type`: of
# its nodes once it started; `first`: its first allocation; `waking_s`: how long it waits for nodes
# that slept; `planned_s`, `planned_type`: its reservation under conservative backfilling; `tried`:
# the last sweep found no room for it. `parts`: its width, the least one until it starts.
# `startup_s`: how long it waits for its `image` (NIL: none), of which `pulls` nodes pull layers, in
# all `pulled_bytes`. `held_mw`: its power, as reserved. `tier`: the highest is served first,
# whatever the order. `leaf`: its place in its group.
JOB = _record(
    f8="submit_s run_s estimate_s tier start_s waking_s end_s ends_s planned_s share "
    "serial_share startup_s pulled_bytes",
    i8="kind parts user type first nodes planned_type tried "
    "recorded_parts least_parts most_parts image pulls held_mw leaf",
)
# What interruptions leave of a job. While it runs, a checkpoint is written every `interval_s`,
# which takes `cost_s`; infinite: only if it is preempted. `saves`: it has checkpoints. `restart_s`:
# what its next start takes on top, `restart_cost_s` once it was interrupted. `leaving`: the last
# checkpoint is being written since `leaving_s`. `target`: the node type it has in this round.
# `preemptable`: by a job of a higher tier; `yields`: it gives way to one.
PROGRESS = _record(
    f8="interval_s cost_s restart_cost_s restart_s leaving_s",
    i8="saves leaving interruptions target preemptable yields",
)
# A run that was interrupted: seconds on the nodes, in all, and of these waking them up, restarting,
# in checkpoints, in work that counts and in work that is lost. Others are as of JOB.
RUN = _record(
    f8="start_s end_s waking_s startup_s restart_s checkpoint_s saved_s lost_s pulled_bytes",
    i8="job type parts nodes first pulls cause",
)
# A kind of part: its demands; `distinct`: each on a node of its own.
KIND = _record(i8="cpu memory gpu distinct")
# Parts of a job on one node. `gpus`: the GPUs that they have, as bits; `next`: of the same job, or
# the next free one.
ALLOCATION = _record(i8="node parts gpus next")
# A node type: its nodes, and what is free on them together. `version` grows when room grows; at
# `swept` all waiting jobs had been tried; `lowest`: no node before it has a free core. `saved_mw`:
# what a node draws less asleep; `off`: it loses its images then; `first_idle`, `last_idle`: the
# list of nodes that are idle and awake, where nodes sleep.
TYPE = _record(
    # An idle node sleeps after `sleep_after_s`, infinite where nodes never sleep.
    f8="sleep_after_s wake_s",
    i8="first_node nodes cpu memory gpu version swept lowest saved_mw off first_idle last_idle",
)
# A node: parts on it; without any, it is idle since `idle_s`; `asleep_s`: until then; `changed` and
# `reserved`: it is in the list of that name; `idle_before`, `idle_after`: its neighbours in the
# type's list of idle nodes; `reclaimed_s`: how long it was reclaimed.
NODE = _record(
    f8="idle_s asleep_s reclaimed_s", i8="parts changed reserved asleep idle_before idle_after"
)
# A kind on a node type. `slowdown`: run time relative to the recorded one, infinite where it cannot
# run; `most_parts` fit its empty nodes; `failed_parts` had no room at the version `failed_at`, and
# `kept_out_parts` none beside the reservation at `kept_out_at`.
# `part_mw`: active power of a part.
SITE = _record(
    f8="slowdown", i8="most_parts failed_parts failed_at kept_out_parts kept_out_at part_mw"
)
# A step of a type's profile: what is free on its nodes together from `at_s` on. One more profile,
# behind the types', has the power that is free.
STEP = _record(f8="at_s", i8="cpu memory gpu power")
# An image: how long a node takes to pull and unpack it, and to start it; its layers, which begin at
# `first_layer` of `image_layers`, and have `bytes` together.
IMAGE = _record(f8="fetch_s warm_s bytes", i8="first_layer layers")
# Jobs with equal demands. `untried`: some were not tried at the last sweep; `open`: in this sweep,
# all of them may have room (0), those that end before the reservation (1), or none (2). Their tree
# begins at `first` of `tree`, its root is the next entry, and it has `leaves`; `place`: where the
# group is in `active`.
GROUP = _record(i8="kind first leaves untried open place")
# What a user has: the share of the cluster now, and the decayed use until `at_s`.
USER = _record(f8="share usage_s at_s")
CLOCK = _record(
    f8="now_s reorder_at_s half_life_s shadow_s reclaim_at_s claimed_s link_free_s "
    "link_bytes_per_s",
    # `arrived`: jobs submitted so far; `ordered`: of these, those that have an order; `waiting`,
    # `fresh`, `running`, `changed`, `reserved`: lengths of the lists; `free`: the first free
    # allocation, of `space`; `keeps`: allocations of ended jobs stay; `grown`: resources were freed
    # since the last search; `head`: the first waiting job, which has the reservation at `shadow_s`
    # on nodes of `shadow_type`; `most_cpu`, `most_memory`, `most_gpu`: no changed node has more
    # free. Power: `power_mw` now, `peak_mw` until now; `held_mw`: as reserved for running jobs;
    # `later_mw`: what the first job's reservation leaves at the shadow time. `submissions`: jobs in
    # all; `unfinished`: of these; `interrupts`: jobs can be interrupted or have checkpoints;
    # `logged`: interrupted runs; `shrunk`: nodes were lost since reservations were made; `rounds`:
    # the order is asked in intervals only, also while none waits; `stuck`: a job was interrupted
    # too often; `preempts`: by tiers; `yielding`: running jobs that give way;
    # `claimant`: the job that others were last interrupted for, at `claimed_s`. `link_free_s`: when
    # the registry's link has served all pulls until now, of `link_bytes_per_s`. `active`: groups
    # with waiting jobs; `trees`: groups have trees.
    i8="arrived ordered waiting fresh running changed reserved free space keeps grown head "
    "shadow_type backfill most_cpu most_memory most_gpu cap_mw power_mw peak_mw held_mw later_mw "
    "submissions unfinished interrupts logged shrunk rounds stuck preempts yielding claimant "
    "active trees",
)


class BatchState(NamedTuple):
    """The simulator's arrays."""

    clock: NDArray[np.void]  # one CLOCK
    jobs: NDArray[np.void]  # JOB
    kinds: NDArray[np.void]  # KIND
    types: NDArray[np.void]  # TYPE
    sites: NDArray[np.void]  # SITE [kind, type]
    preferred: NDArray[np.int64]  # [kind, rank]: node types, the best first; NIL behind them
    users: NDArray[np.void]  # USER
    nodes: NDArray[np.void]  # NODE
    free: NDArray[np.int64]  # [node, resource]
    later: NDArray[np.int64]  # the same at the shadow time, without the first job's reservation
    waiting: NDArray[np.int64]  # jobs in order
    fresh: NDArray[np.int64]  # jobs submitted since the last search, in order
    running: NDArray[np.int64]  # jobs by estimated end
    heap: NDArray[np.int64]  # jobs by end
    changed: NDArray[np.int64]  # nodes whose room has grown since the last sweep
    reserved: NDArray[np.int64]  # nodes of the first job's reservation
    chosen: NDArray[np.int64]  # [node, (number, parts)]: scratch space
    allocations: NDArray[np.void]  # ALLOCATION
    profile: NDArray[np.void]  # STEP [type, step]: what running and waiting jobs leave
    steps: NDArray[np.int64]  # [type]: steps of its profile
    images: NDArray[np.void]  # IMAGE
    image_layers: NDArray[np.int64]  # the layers of each image in turn
    layer_bytes: NDArray[np.float64]
    ready_s: NDArray[np.float64]  # [node, layer]: when the node has it; infinite if it has not
    progress: NDArray[np.void]  # PROGRESS, of each job
    runs: NDArray[np.void]  # RUN: those that were interrupted
    cleared: NDArray[np.int64]  # [node, resource]: scratch space
    row: NDArray[np.int64]  # [resource]: scratch space
    order: NDArray[np.float64]  # [job]: the smallest is served first
    group: NDArray[np.int64]  # [job]
    groups: NDArray[np.void]  # GROUP; none: waiting jobs are tried one by one
    tree: NDArray[np.int64]  # of each group in turn: the shortest waiting job below, or NIL
    active: NDArray[np.int64]  # groups with waiting jobs
    candidates: NDArray[np.int64]  # [group]: scratch space
