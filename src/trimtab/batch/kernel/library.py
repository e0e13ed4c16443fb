"""The simulator of batch queues in C (native/batch_queues), and its records."""

import ctypes
from functools import cache

from trimtab.batch.kernel.layout import BatchState
from trimtab.native import native_path, record_fields

_SIZES = (
    *("type_count", "node_count", "resource_count", "layer_count"),
    *("step_space", "run_space", "group_count"),
)


class _State(ctypes.Structure):
    """`struct state` of state.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in BatchState._fields),
        *((name, ctypes.c_int64) for name in _SIZES),
    ]


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_path("libtrimtab-batch-queues.so")))
    library.trimtab_batch_reclaim.argtypes = [
        *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_double),
    ]
    library.trimtab_batch_preempt.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return library


class Simulator:
    """Simulates a state in C, which changes its arrays."""

    def __init__(self, state: BatchState) -> None:
        """Have the C library use the arrays of `state`, which live as long as this."""
        assert all(array.flags.c_contiguous for array in state)
        self.state = state
        sizes = (state.sites.shape[1], *state.free.shape, state.ready_s.shape[1])
        space = (state.profile.shape[1], len(state.runs), len(state.groups))
        self._in_c = _State(*(array.ctypes.data for array in state), *sizes, *space)
        self._at = ctypes.byref(self._in_c)

    def run(self) -> int:
        """Continue until the end or until the caller is needed; return why (layout).

        NEED_SPACE: more allocations, steps of the profile, or runs. NEED_ORDER: waiting jobs and
        those from `ordered` to `arrived` need their `order`; the caller sets `ordered`, and then
        `reorder_at_s`.
        """
        return int(_library().trimtab_batch_run(self._at))

    def preempt(self, slot: int) -> None:
        """Take a running job off its nodes for a round, after a last checkpoint if it has any.

        Where it ends before that is written, or is leaving already, it stays.
        """
        _library().trimtab_batch_preempt(self._at, int(slot))

    def reclaim(self, number: int, node: int, back_s: float, notice_s: float) -> None:
        """Interrupt the jobs on a node of a type, which is away until a time.

        A job whose checkpoint takes `notice_s` at most has begun one as late as it could. Until
        then, a stand-in has the whole node: the job of the node's number behind all jobs.
        """
        _library().trimtab_batch_reclaim(self._at, int(number), node, back_s, notice_s)


def records() -> dict[str, list[str]]:
    """Return the fields of each record in C, as `f8:name` or `i8:name`."""
    return record_fields(_library(), "trimtab_batch_records")
