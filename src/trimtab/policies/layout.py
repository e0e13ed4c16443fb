"""The kernel's state: records of numbers in arrays, and what their fields mean.

Times are seconds since the trace's start; `INFINITY` is infinity. All whole numbers have 64 bits,
as the kernel would be compiled again for each mixture. A job that has arrived and not finished has
a slot, a row of `JOB`; slots are used again, so memory follows the jobs in the system and not the
length of the trace.
"""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray


def _number(value: int) -> int:
    # NumPy's, as Numba compiles a function once more for each of Python's that it is called with.
    return cast(int, np.int64(value))


# Of what is not negative: spares the kernel the test for counting from an array's end, a sixth of
# its time.
index = np.uint64
INFINITY = np.inf
NIL = _number(-1)  # in place of a slot, a node or a shape

# A job's own events in the order in which those of one instant are taken; jobs by number within.
FINISH, DRAW, DRAW_THERE, SWITCH, SPRINT = range(5)
# Why the kernel returns: it needs arrivals, space, or the caller to do something; or it is done.
DONE, NEED_ARRIVALS, NEED_SLOTS, NEED_OUTPUT, SAMPLE, MAINTAIN = range(6)
# How an allocation on a node ends.
ENDS = ("finished", "evicted", "migrated", "failed", "level")
FINISHED, EVICTED, MIGRATED, FAILED, LEVEL = map(_number, range(5))
# Which nodes a search is for: without the job's image, with it, any.
WITHOUT, WITH, ANY = map(_number, range(3))
NO_LEVEL = _number(0)
# Placement rules that the kernel knows.
FIRST_FIT, HEATS, HEATS_AS_RELEASED, KUBERNETES = range(4)


def _record(*fields: tuple[str, str]) -> np.dtype[np.void]:
    """Return the record of groups of fields: their type, and their names in one text."""
    return np.dtype([(name, kind) for kind, names in fields for name in names.split()], align=True)


JOB = _record(
    # `heap` is its place in the heap of events; `before` and `after` are its neighbours in its
    # queue, or among the running jobs.
    ("i8", "job shape node level heap before after"),
    # `left_s`: work left at `since_s`, since when it works at its present speed, if set up by then;
    # `ready_s`: when it is set up; `begun_s`: this execution; `allocation_s`: this allocation, of
    # one node and one level.
    ("f8", "arrival_s work_s left_s since_s ready_s begun_s allocation_s"),
    # Its next events, `INFINITY` where there is none. `draw_s`: image or state is there, and it
    # begins to draw power; `switch_s`: it goes on at its new place.
    ("f8", "finish_s draw_s sprint_s switch_s there_draw_s"),
    # Power of its cores, when the node's cores are all in use, and of its GPUs; since when,
    # `INFINITY`: it draws nothing; and the node's `factor_s` then.
    ("f8", "drawing_w drawing_gpu_w drawing_since_s drawing_from"),
    # The same of the node that it moves to.
    ("i8", "there there_level"),
    ("f8", "there_since_s there_w there_gpu_w there_drawing_since_s there_drawing_from"),
    # `first_s`: the start of its first execution, NaN before; `kept_s`: of evicted executions that
    # it goes on from.
    ("f8", "first_s kept_s wasted_s set_up_s sprinted_s energy_j"),
    ("i8", "evictions migrations dropped sprinting"),
)

NODE = _record(
    # `drawing`: tasks that draw power.
    ("i8", "type up cpu gpu memory free_cpu free_gpu free_memory drawing drawing_cpu"),
    # `watts`: of their cores, before the load curve; `factor`: of the load curve now, `factor_s`
    # its integral over time; all integrals are up to `at_s`.
    ("f8", "watts gpu_watts at_s factor factor_s active_j busy_core_s down_s down_since_s"),
)

# Jobs that ask for the same wait in one queue: if one of them has no room, no other has. `active`
# is its place in the list of the shapes that have waiting jobs; `blocked`: no node has room for it.
SHAPE = _record(("i8", "job_class priority cpu gpu memory first last waiting active blocked"))

CLOCK = _record(
    # `budget_s`: seconds of sprinting left at `budget_at_s`; `empty_s`: when there are none.
    ("f8", "now_s tick_s sample_s maintain_s budget_s budget_at_s empty_s"),
    # `changed`: whether waiting jobs are to be tried; `free_slot`: the first of a list through
    # `after`; `next_node`: where Kubernetes goes on looking.
    ("i8", "sprinters changed in_heap pending running first_running last_running free_slot"),
    ("i8", "actives outage next_node rows allocations events"),
)

RULES = _record(
    # `level`: of a new execution; negative: counted from the highest, -1.
    ("i8", "placement level by_priority head_of_line evicts resumes free_migration"),
    # `hold_when_pending`: running jobs are left alone meanwhile.
    ("i8", "hold_when_pending choose_level"),
    ("f8", "migration_gain"),
    ("i8", "random_weights"),
    ("u8", "weight_seed"),
    ("i8", "scores_images nodes_to_find"),  # whether a score hangs on where the image is
    ("f8", "tick_s"),
    ("i8", "sprint_level"),
    ("f8", "budget_s replenish_s_per_s"),
    ("i8", "records_allocations"),
)

FREE = _record(("i8", "cpu gpu memory"))
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
    # `linear`: the load curve is the load itself; `tree`: where its search tree begins, of
    # `leaves`, a power of two.
    ("i8", "levels linear nodes first_node tree leaves"),
    ("f8", "score"),  # of HEATS as released
)
JOB_CLASS = _record(("f8", "cold_start_s sprint_after_s energy_weight"))
# `pull_s`: of the image; `pause_s`: of a migration; and the predicted set-up where the image is not
# there, and where it is. `runs`: whether jobs of the class may run on nodes of the type at all.
CLASS_ON_TYPE = _record(
    ("f8", "pull_s pause_s absent_s absent_j present_s present_j"), ("i8", "runs")
)
# `speed`: work a second; `watts`: of all cores of a node; `gpu_watts`: of one GPU; run time and
# energy are predicted, where the placement rule needs them.
SERVICE_RATE = _record(("f8", "speed watts gpu_watts run_time_s energy_j"))


class KernelModel(NamedTuple):
    """What does not change while the simulation runs."""

    rules: NDArray[np.void]  # one RULES
    kinds: NDArray[np.void]  # KIND [type]
    classes: NDArray[np.void]  # JOB_CLASS [class]
    sites: NDArray[np.void]  # SITE [class, type]
    paces: NDArray[np.void]  # PACE [class, type, level]
    load_curve: NDArray[np.float64]  # [type, 11]
    outages: NDArray[np.void]  # OUTAGE, in order of time


class KernelState(NamedTuple):
    """What the simulation changes."""

    clock: NDArray[np.void]  # one CLOCK
    jobs: NDArray[np.void]  # JOB, by slot
    heap: NDArray[np.void]  # HEAP
    nodes: NDArray[np.void]  # NODE
    tree: NDArray[np.void]  # FREE: the most of each on any node below
    shapes: NDArray[np.void]  # SHAPE
    active: NDArray[np.int64]  # the shapes that have waiting jobs, in any order
    images: NDArray[np.bool_]  # [class, node]
    lacking: NDArray[np.int64]  # [class, type]: nodes without the image
    candidates: NDArray[np.int64]  # [type, 3]: scratch space


class KernelOutput(NamedTuple):
    """Rows that the kernel has filled: `clock.rows` and `clock.allocations` of them."""

    rows: NDArray[np.void]  # FINISHED_ROW
    allocations: NDArray[np.void]  # ALLOCATION_ROW
