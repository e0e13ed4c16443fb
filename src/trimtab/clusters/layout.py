"""The kernel's state: records of numbers in arrays, and what their fields mean.

Times are seconds since the trace's start; `never` is infinity. All whole numbers have 64 bits, as
the kernel would be compiled again for each mixture. A job that has arrived and not finished has a
slot, a row of `JOB`; slots are used again, so memory follows the jobs in the system and not the
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
never = np.inf
NOBODY = _number(-1)  # in place of a slot, a node or a shape

# A job's own events in the order in which those of one instant are taken; jobs by number within.
FINISH, DRAW, DRAW_THERE, SWITCH, SPRINT = range(5)
# Why the kernel returns: it needs arrivals, space, or the caller to do something; or it is done.
DONE, NEED_ARRIVALS, NEED_SLOTS, NEED_OUTPUT, SAMPLE, MAINTAIN = range(6)
# How a stay on a node ends.
ENDS = ("finished", "evicted", "migrated", "failed", "level")
FINISHED, EVICTED, MIGRATED, FAILED, LEVEL = map(_number, range(5))
# Which nodes a search is for: without the job's image, with it, any.
WITHOUT, WITH, ANY = map(_number, range(3))
NO_LEVEL = _number(0)
# Placement rules that the kernel knows.
FIRST_FIT, HEATS, HEATS_AS_RELEASED, KUBERNETES = range(4)

JOB = np.dtype(
    [
        ("job", "i8"),
        ("shape", "i8"),
        ("node", "i8"),
        ("level", "i8"),
        ("heap", "i8"),  # its place in the heap of events
        ("before", "i8"),  # neighbours in its queue, or among the running jobs
        ("after", "i8"),
        ("arrival_s", "f8"),
        ("work_s", "f8"),
        ("left_s", "f8"),  # work left at `since_s`
        ("since_s", "f8"),  # since when it works at its present speed, if set up by then
        ("ready_s", "f8"),  # when it is set up
        ("begun_s", "f8"),  # this execution
        ("stay_s", "f8"),  # this stay: one node, one level
        ("finish_s", "f8"),  # its next events, `never` where there is none
        ("draw_s", "f8"),  # image or state is there, and it begins to draw power
        ("sprint_s", "f8"),
        ("switch_s", "f8"),  # it goes on at its new place
        ("there_draw_s", "f8"),
        ("drawing_w", "f8"),  # power of its cores when the node's cores are all in use
        ("drawing_gpu_w", "f8"),
        ("drawing_since_s", "f8"),  # `never`: it draws nothing
        ("drawing_from", "f8"),  # the node's `factor_s` then
        ("there", "i8"),  # the node that it moves to
        ("there_level", "i8"),
        ("there_since_s", "f8"),
        ("there_w", "f8"),
        ("there_gpu_w", "f8"),
        ("there_drawing_since_s", "f8"),
        ("there_drawing_from", "f8"),
        ("first_s", "f8"),  # the start of its first execution; NaN before
        ("kept_s", "f8"),  # of evicted executions that it goes on from
        ("wasted_s", "f8"),
        ("set_up_s", "f8"),
        ("sprinted_s", "f8"),
        ("energy_j", "f8"),
        ("evictions", "i8"),
        ("migrations", "i8"),
        ("dropped", "i8"),
        ("sprinting", "i8"),
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("type", "i8"),
        ("up", "i8"),
        ("cpu", "i8"),
        ("gpu", "i8"),
        ("memory", "i8"),
        ("free_cpu", "i8"),
        ("free_gpu", "i8"),
        ("free_memory", "i8"),
        ("drawing", "i8"),  # tasks that draw power
        ("drawing_cpu", "i8"),
        ("watts", "f8"),  # of their cores, before the load curve
        ("gpu_watts", "f8"),
        ("at_s", "f8"),  # the integrals below are up to here
        ("factor", "f8"),  # of the load curve, now
        ("factor_s", "f8"),  # its integral over time
        ("active_j", "f8"),
        ("busy_core_s", "f8"),
        ("down_s", "f8"),
        ("down_since_s", "f8"),
    ],
    align=True,
)

# Jobs that ask for the same wait in one queue: if one of them has no room, no other has.
SHAPE = np.dtype(
    [
        ("job_class", "i8"),
        ("priority", "i8"),
        ("cpu", "i8"),
        ("gpu", "i8"),
        ("memory", "i8"),
        ("first", "i8"),
        ("last", "i8"),
        ("waiting", "i8"),
        ("active", "i8"),  # its place in the list of the shapes that have waiting jobs
        ("blocked", "i8"),  # no node has room for it
    ],
    align=True,
)

CLOCK = np.dtype(
    [
        ("now_s", "f8"),
        ("tick_s", "f8"),
        ("sample_s", "f8"),
        ("maintain_s", "f8"),
        ("budget_s", "f8"),  # seconds of sprinting left at `budget_at_s`
        ("budget_at_s", "f8"),
        ("empty_s", "f8"),  # when the budget is empty
        ("sprinters", "i8"),
        ("changed", "i8"),  # whether waiting jobs are to be tried
        ("in_heap", "i8"),
        ("pending", "i8"),
        ("running", "i8"),
        ("first_running", "i8"),
        ("last_running", "i8"),
        ("free_slot", "i8"),  # the first of a list through `after`
        ("actives", "i8"),
        ("outage", "i8"),
        ("next_node", "i8"),  # where Kubernetes goes on looking
        ("rows", "i8"),
        ("stays", "i8"),
        ("events", "i8"),
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("placement", "i8"),
        ("level", "i8"),  # of a new execution; negative: counted from the highest, -1
        ("by_priority", "i8"),
        ("head_of_line", "i8"),
        ("evicts", "i8"),
        ("resumes", "i8"),
        ("free_migration", "i8"),
        (
            "hold_when_pending",
            "i8",
        ),  # running jobs are left alone meanwhile
        ("choose_level", "i8"),
        ("migration_gain", "f8"),
        ("random_weights", "i8"),
        ("weight_seed", "u8"),
        ("scores_images", "i8"),  # whether a score hangs on where the image is
        ("nodes_to_find", "i8"),
        ("tick_s", "f8"),
        ("sprint_level", "i8"),
        ("budget_s", "f8"),
        ("replenish_s_per_s", "f8"),
        ("records_stays", "i8"),
    ],
    align=True,
)

FREE = np.dtype([("cpu", "i8"), ("gpu", "i8"), ("memory", "i8")], align=True)
ARRIVAL = np.dtype(
    [("job", "i8"), ("shape", "i8"), ("arrival_s", "f8"), ("work_s", "f8"), ("dropped", "i8")],
    align=True,
)
HEAP = np.dtype([("time_s", "f8"), ("order", "i8"), ("slot", "i8")], align=True)
OUTAGE = np.dtype([("time_s", "f8"), ("node", "i8"), ("up", "i8")], align=True)

STAY_ROW = np.dtype(
    [
        ("job", "i8"),
        ("node", "i8"),
        ("level", "i8"),
        ("cpu_milli", "i8"),
        ("start_s", "f8"),
        ("ready_s", "f8"),
        ("end_s", "f8"),
        ("end", "i8"),
    ],
    align=True,
)
FINISHED_ROW = np.dtype(
    [
        ("job", "i8"),
        ("job_class", "i8"),
        ("priority", "i8"),
        ("cpu_milli", "i8"),
        ("arrival_s", "f8"),
        ("start_s", "f8"),
        ("finish_s", "f8"),
        ("response_s", "f8"),
        ("execution_s", "f8"),
        ("wasted_s", "f8"),
        ("set_up_s", "f8"),
        ("sprint_s", "f8"),
        ("dropped_tasks", "i8"),
        ("evictions", "i8"),
        ("migrations", "i8"),
        ("node", "i8"),
        ("level", "i8"),
        ("energy_j", "f8"),
    ],
    align=True,
)


KIND = np.dtype(
    [
        ("levels", "i8"),
        ("linear", "i8"),  # the load curve is the load itself
        ("nodes", "i8"),
        ("first_node", "i8"),
        ("tree", "i8"),  # where its search tree begins
        ("leaves", "i8"),  # of that: a power of two
        ("score", "f8"),  # of HEATS as released
    ],
    align=True,
)
JOB_CLASS = np.dtype(
    [("cold_start_s", "f8"), ("sprint_after_s", "f8"), ("energy_weight", "f8")], align=True
)
SITE = np.dtype(
    [
        ("pull_s", "f8"),  # of the image
        ("pause_s", "f8"),  # of a migration
        ("absent_s", "f8"),  # predicted set-up where the image is not there, and where it is
        ("absent_j", "f8"),
        ("present_s", "f8"),
        ("present_j", "f8"),
    ],
    align=True,
)
PACE = np.dtype(
    [
        ("speed", "f8"),  # work a second
        ("watts", "f8"),  # of all cores of a node
        ("gpu_watts", "f8"),  # of one GPU
        ("run_time_s", "f8"),  # predicted, where the placement rule needs it
        ("energy_j", "f8"),
    ],
    align=True,
)


class Model(NamedTuple):
    """What does not change while the simulation runs."""

    rules: NDArray[np.void]  # one RULES
    kinds: NDArray[np.void]  # KIND [type]
    classes: NDArray[np.void]  # JOB_CLASS [class]
    sites: NDArray[np.void]  # SITE [class, type]
    paces: NDArray[np.void]  # PACE [class, type, level]
    load_curve: NDArray[np.float64]  # [type, 11]
    outages: NDArray[np.void]  # OUTAGE, in order of time


class State(NamedTuple):
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
    """Rows that the kernel has filled: `clock.rows` and `clock.stays` of them."""

    rows: NDArray[np.void]  # FINISHED_ROW
    stays: NDArray[np.void]  # STAY_ROW
