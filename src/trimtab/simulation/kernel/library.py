"""The simulator of a cluster in C (native/cluster_simulator), and its records."""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.native import native_path, record_fields
from trimtab.policies.layout import KernelModel, KernelOutput, KernelState

_SIZES = (
    *("kind_count", "level_count", "outage_count", "node_count", "gpu_count", "queue_count"),
    *("row_space", "allocation_space"),
)


class _System(ctypes.Structure):
    """`struct system` of system.h."""

    _fields_ = [
        *(
            (name, ctypes.c_void_p)
            for arrays in (KernelModel, KernelState, KernelOutput)
            for name in arrays._fields
        ),
        *((name, ctypes.c_int64) for name in _SIZES),
    ]


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_path("libtrimtab-cluster-simulator.so")))
    library.trimtab_cluster_run.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
        *(ctypes.POINTER(ctypes.c_int64), ctypes.c_bool),
    ]
    return library


class System:
    """A simulation's arrays, which C changes."""

    def __init__(self, m: KernelModel, s: KernelState, out: KernelOutput) -> None:
        """Have the C library use these arrays, which live as long as this."""
        self._arrays: tuple[NDArray[Any], ...] = (*m, *s, *out)
        assert all(array.flags.c_contiguous for array in self._arrays)
        sizes = (
            *(*m.paces.shape[1:], len(m.outages), *s.gpus.shape, len(s.queues)),
            *(len(out.rows), len(out.allocations)),
        )
        self._in_c = _System(*(array.ctypes.data for array in self._arrays), *sizes)

    def write_to(self, out: KernelOutput) -> None:
        """Have the C library write to these arrays instead."""
        assert all(array.flags.c_contiguous for array in out)
        self._arrays = (*self._arrays[: -len(out)], *out)
        self._in_c.rows, self._in_c.allocations = (array.ctypes.data for array in out)
        self._in_c.row_space, self._in_c.allocation_space = map(len, out)

    def run(self, chunk: NDArray[np.void], position: int, last: bool) -> tuple[int, int]:
        """Continue from `position` of `chunk` until the caller is needed; return why, and where.

        `chunk` is an array of ARRIVAL. `last`: no chunk follows. The reason is one of layout's.
        SAMPLE and MAINTAIN are at the time `clock.now_s`; the caller sets the next one's time.
        """
        assert chunk.flags.c_contiguous
        at = ctypes.c_int64(position)
        reason = _library().trimtab_cluster_run(
            ctypes.byref(self._in_c), chunk.ctypes.data, len(chunk), ctypes.byref(at), last
        )
        return int(reason), at.value


def records() -> dict[str, list[str]]:
    """Return the fields of each record in C, as `f8:name`, `i8:name` or `u8:name`."""
    return record_fields(_library(), "trimtab_cluster_records")
