"""The kernel's state: records of numbers in arrays, and what their fields mean.

Times are seconds since the trace's start; `INFINITY` is infinity. native/cluster_simulator has the
same records. A job in the system has a slot, a row of `JOB`. Slots are reused, so memory depends on
the jobs in the system, not on the length of the trace.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INFINITY = np.inf
NIL = -1  # in place of a slot, a node or a shape
LAST = np.iinfo(np.int64).max  # in place of a job's number or rank
WHOLE_GPU = 1000  # thousandths

# A job's own events, in their order at one instant; then by the job's number.
FINISH, DRAW, DRAW_THERE, SWITCH, SPRINT = range(5)
# Why the kernel returns: it needs arrivals, space, or an action of the caller; or it is done.
DONE, NEED_ARRIVALS, NEED_SLOTS, NEED_OUTPUT, SAMPLE, MAINTAIN = range(6)
# How an allocation on a node ends.
ENDS = ("finished", "evicted", "migrated", "failed", "level")
FINISHED, EVICTED, MIGRATED, FAILED, LEVEL = range(5)
# Placement rules that the kernel knows.
FIRST_FIT, HEATS, HEATS_AS_RELEASED, KUBERNETES = range(4)


def _record(*fields: tuple[str, str]) -> np.dtype[np.void]:
    """Return the record of groups of fields: their type, and their names in one text."""
    return np.dtype([(name, kind) for kind, names in fields for name in names.split()], align=True)


JOB = _record(
    # `heap`: place in the heap of events; `before` and `after`: neighbours in its queue, or among
    # the running jobs.
    ("i8", "job shape node level heap before after"),
    # `left_s`: work left at `since_s`, the start of its present speed; `ready_s`: end of set-up;
    # `begun_s`: start of this execution; `allocation_s`: start of this allocation, of one node and
    # one level.
    ("f8", "arrival_s work_s left_s since_s ready_s begun_s allocation_s"),
    # Its next events, `INFINITY` for none. `draw_s`: image or state has arrived, and it begins to
    # draw power; `switch_s`: it continues at its new place.
    ("f8", "finish_s draw_s sprint_s switch_s there_draw_s"),
    # Power of its cores on a fully used node, and of its GPUs; the start of drawing (`INFINITY`:
    # not drawing), and the node's `factor_s` at that time.
    ("f8", "drawing_w drawing_gpu_w drawing_since_s drawing_from"),
    # The same for the node that it moves to.
    ("i8", "there there_level"),
    ("f8", "there_since_s there_w there_gpu_w there_drawing_since_s there_drawing_from"),
    # `first_s`: start of its first execution, NaN before; `kept_s`: work kept from evicted
    # executions.
    ("f8", "first_s kept_s wasted_s set_up_s sprinted_s energy_j"),
    ("i8", "evictions migrations dropped sprinting"),
    ("i8", "gpus there_gpus"),  # of its node, and of the node that it moves to, as bits
)

NODE = _record(
    # `drawing`: tasks that draw power; `freed`: whether it is in the list of freed nodes.
    # `free_gpu`: thousandths on all GPUs; `largest_gpu`: the largest demand with room.
    ("i8", "type up cpu gpu memory free_cpu free_gpu free_memory drawing drawing_cpu freed"),
    ("i8", "largest_gpu"),
    # `watts`: power of their cores, before the load curve; `factor`: of the load curve now;
    # `factor_s`: its integral over time. All integrals are up to `at_s`.
    ("f8", "watts gpu_watts at_s factor factor_s active_j busy_core_s down_s down_since_s"),
    # Integrals up to `gpu_at_s`: of free GPUs, and of those of them that are not wholly free.
    ("f8", "gpu_at_s free_gpu_s fragmented_gpu_s"),
)

# Jobs with equal requests wait in one queue: if one has no room, none has. `rank`: the lower, the
# earlier its jobs are served; `leaf`: place in the tree of shapes; `aside`: not to be tried again
# before the next change.
SHAPE = _record(("i8", "job_class priority cpu gpu memory first last waiting rank leaf aside"))
# Of the shapes of the leaves below: the least demands, and the shape of the job that is served
# first, with its rank and number; NIL where no job waits.
QUEUE = _record(("i8", "cpu gpu memory rank job shape"))

CLOCK = _record(
    # `budget_s`: seconds of sprinting left at `budget_at_s`; `empty_s`: when it will be empty.
    ("f8", "now_s tick_s sample_s maintain_s budget_s budget_at_s empty_s"),
    # `changed`: waiting jobs have to be tried; `free_slot`: head of a list linked by `after`;
    # `next_node`: start of Kubernetes' next search.
    ("i8", "sprinters changed in_heap pending running first_running last_running free_slot"),
    ("i8", "outage next_node rows allocations events"),
    # Shapes and nodes in the lists `fresh` and `freed`; the sums of waiting jobs' requests.
    ("i8", "fresh freed waiting_cpu waiting_gpu waiting_memory"),
)

RULES = _record(
    # `level`: of a new execution; negative: counted from the highest, -1.
    ("i8", "placement level by_priority head_of_line evicts resumes free_migration"),
    ("i8", "resamples restarts_moved"),
    # `hold_when_pending`: running jobs are not moved then.
    ("i8", "hold_when_pending choose_level"),
    ("f8", "migration_gain"),
    ("i8", "random_weights"),
    ("u8", "weight_seed"),
    ("i8", "scores_images nodes_to_find"),  # whether scores depend on the image
    ("f8", "tick_s"),
    ("i8", "sprint_level"),
    ("f8", "budget_s replenish_s_per_s"),
    ("i8", "records_allocations"),
)

FREE = _record(("i8", "cpu gpu memory"))  # `gpu`: the largest demand with room
ARRIVAL = _record(("i8", "job shape"), ("f8", "arrival_s work_s"), ("i8", "dropped"))
HEAP = _record(("f8", "time_s"), ("i8", "order slot"))
OUTAGE = _record(("f8", "time_s"), ("i8", "node up"))

ALLOCATION_ROW = _record(
    ("i8", "job node level cpu_milli"), ("f8", "start_s ready_s end_s"), ("i8", "end")
)
FINISHED_ROW = _record(
    ("i8", "job job_class priority cpu_milli"),
    ("f8", "arrival_s start_s finish_s response_s execution_s wasted_s set_up_s sprint_s"),
    ("i8", "dropped_tasks evictions migrations node level"),
    ("f8", "energy_j"),
)

KIND = _record(
    # `linear`: the load curve is the load itself; `tree`: start of its search tree with `leaves`
    # leaves, a power of two; `gpu_slices`: of each GPU.
    ("i8", "levels linear nodes first_node tree leaves gpu_slices"),
    ("f8", "score"),  # of HEATS as released
)
JOB_CLASS = _record(("f8", "cold_start_s sprint_after_s energy_weight"))
# `pull_s`: of the image; `pause_s`: of a migration; the predicted set-up without and with the
# image. `runs`: whether jobs of the class may run on nodes of the type.
CLASS_ON_TYPE = _record(
    ("f8", "pull_s pause_s absent_s absent_j present_s present_j"), ("i8", "runs")
)
# `speed`: work per second; `watts`: of all cores of a node; `gpu_watts`: of one GPU; predicted run
# time and energy, for placement rules that need them.
SERVICE_RATE = _record(("f8", "speed watts gpu_watts run_time_s energy_j"))


class KernelModel(NamedTuple):
    """The constants of a simulation."""

    rules: NDArray[np.void]  # one RULES
    kinds: NDArray[np.void]  # KIND [type]
    classes: NDArray[np.void]  # JOB_CLASS [class]
    sites: NDArray[np.void]  # CLASS_ON_TYPE [class, type]
    paces: NDArray[np.void]  # SERVICE_RATE [class, type, level]
    load_curve: NDArray[np.float64]  # [type, 11]
    outages: NDArray[np.void]  # OUTAGE, in order of time
    work_s: NDArray[np.float64]  # service times to draw from, of each class in turn
    works_from: NDArray[np.int64]  # [class + 1]: where they begin


class KernelState(NamedTuple):
    """The variables of a simulation."""

    clock: NDArray[np.void]  # one CLOCK
    jobs: NDArray[np.void]  # JOB, by slot
    heap: NDArray[np.void]  # HEAP
    nodes: NDArray[np.void]  # NODE
    gpus: NDArray[np.int64]  # [node, GPU]: free slices
    tree: NDArray[np.void]  # FREE: the largest of each on any node below
    shapes: NDArray[np.void]  # SHAPE
    queues: NDArray[np.void]  # QUEUE: the tree of shapes; its leaves are the second half
    fresh: NDArray[np.int64]  # the shapes that no node has been searched for, in any order
    aside: NDArray[np.int64]  # the shapes that are aside
    freed: NDArray[np.int64]  # the nodes that have got room, in any order
    served: NDArray[np.int64]  # [freed node, (shape, job)]: a waiting job for it; scratch space
    stack: NDArray[np.int64]  # scratch space
    images: NDArray[np.bool_]  # [class, node]
    lacking: NDArray[np.int64]  # [class, type]: nodes without the image
    candidates: NDArray[np.int64]  # [type, 3]: scratch space


class KernelOutput(NamedTuple):
    """Rows that the kernel has filled: `clock.rows` and `clock.allocations` of them."""

    rows: NDArray[np.void]  # FINISHED_ROW
    allocations: NDArray[np.void]  # ALLOCATION_ROW
