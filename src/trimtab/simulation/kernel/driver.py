"""Runs the simulator in C: feeds it the trace, empties its output, grows its arrays."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.policies import layout
from trimtab.policies.base import Policy
from trimtab.policies.layout import KernelModel, KernelOutput
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batches import Batch, End, LoadRow, SimulationRequest, load_row
from trimtab.simulation.kernel.library import System
from trimtab.simulation.kernel.model import build_model, build_state, with_slots
from trimtab.simulation.kernel.shapes import with_shapes
from trimtab.simulation.prefetcher import Prefetcher

_SLOTS = 1024
_ROWS = 1 << 14  # few enough that freed memory is used again
_EMPTY = np.zeros(0, layout.ARRIVAL)


class KernelSimulator:
    """The simulator in C."""

    def __init__(self, arrivals: Arrivals, policy: Policy, demand: SimulationRequest) -> None:
        """Raise UserError where the policy is for another cluster."""
        self._arrivals = arrivals
        self._demand = demand
        self._model = self._build_model(policy)
        self._state = build_state(
            self._model, arrivals.cluster, _SLOTS, demand.sample_s, demand.maintain_s
        )
        allocations = 2 * _ROWS if demand.allocations else 0
        self._output = _empty_output(allocations)
        self._idle_w = np.array([node_type.idle_w for node_type in arrivals.cluster.node_types])
        self._known = 0  # number of known shapes
        self._load: list[LoadRow] = []
        self._finished: list[NDArray[np.void]] = []

    def run(self, frames: Iterable[pd.DataFrame]) -> Iterator[Batch]:
        """Simulate the trace and yield batches, in order."""
        with Prefetcher(self._chunks(frames)) as chunks:
            yield from self._simulate(chunks)

    def _chunks(
        self, frames: Iterable[pd.DataFrame]
    ) -> Iterator[tuple[NDArray[np.void], NDArray[np.void]]]:
        """Yield chunks, each with its new shapes."""
        known = 0
        for frame in frames:
            chunk = self._arrivals.chunk(frame)
            yield chunk, self._arrivals.shapes[known : self._arrivals.count].copy()
            known = self._arrivals.count

    def _simulate(
        self, chunks: Iterator[tuple[NDArray[np.void], NDArray[np.void]]]
    ) -> Iterator[Batch]:
        chunk, position, last = _EMPTY, 0, False
        system = self._system()
        while True:
            reason, position = system.run(chunk, position, last)
            while reason == layout.SAMPLE:
                self._sample()
                reason, position = system.run(chunk, position, last)
            if reason == layout.NEED_ARRIVALS:
                arrived = next(chunks, None)
                last = arrived is None
                chunk, position = _EMPTY, 0
                if arrived is not None:
                    chunk, shapes = arrived
                    if len(shapes):
                        self._state = with_shapes(self._model, self._state, self._known, shapes)
                        self._known += len(shapes)
                        system = self._system()
            elif reason == layout.NEED_SLOTS:
                self._state = with_slots(self._state, 2 * len(self._state.jobs))
                system = self._system()
            elif reason == layout.NEED_OUTPUT:
                yield from self._flush()
                self._make_room()
                system.write_to(self._output)
            elif reason == layout.MAINTAIN:
                yield from self._flush()
                self._maintain()
                system = self._system()
            else:
                assert reason == layout.DONE
                yield from self._flush()
                return

    def _system(self) -> System:
        return System(self._model, self._state, self._output)

    def end(self) -> End:
        """Return the end of the simulation."""
        clock, nodes = self._state.clock[0], self._state.nodes
        end_s = float(clock["now_s"])
        down_s = nodes["down_s"] + np.where(nodes["up"], 0.0, end_s - nodes["down_since_s"])
        # While a node is down, all of its GPUs are free, and whole.
        since_s = end_s - nodes["gpu_at_s"]
        whole = np.where(nodes["largest_gpu"] < layout.WHOLE_GPU, 0, nodes["largest_gpu"])
        fragmented = (nodes["free_gpu"] - whole) * 1e-3
        return End(
            end_s,
            int(clock["pending"]),
            int(clock["events"]),
            nodes["busy_core_s"],
            down_s,
            nodes["active_j"],
            nodes["free_gpu_s"] + (since_s * nodes["free_gpu"] - down_s * nodes["gpu"]) * 1e-3,
            nodes["fragmented_gpu_s"] + since_s * fragmented,
        )

    def _flush(self) -> Iterator[Batch]:
        clock = self._state.clock[0]
        rows = self._output.rows[: clock["rows"]]
        if self._demand.maintain is not None:
            self._finished.append(rows.copy())
        yield Batch(rows, self._output.allocations[: clock["allocations"]], self._load)
        # Another thread may still read the yielded arrays.
        self._output = _empty_output(len(self._output.allocations))
        clock["rows"] = clock["allocations"] = 0
        self._load = []

    def _make_room(self) -> None:
        # One event may end the allocations of all running jobs, and of their new places.
        needed = 2 * (3 * int(self._state.clock["running"][0]) + 8)
        if self._demand.allocations and len(self._output.allocations) < needed:
            self._output = _empty_output(needed)

    def _sample(self) -> None:
        clock, nodes = self._state.clock[0], self._state.nodes
        idle_w = np.where(nodes["up"], self._idle_w[nodes["type"]], 0.0)
        power_w = float(np.sum(idle_w + nodes["factor"] * nodes["watts"] + nodes["gpu_watts"]))
        row = load_row(
            float(clock["now_s"]),
            int(clock["pending"]),
            int(clock["running"]),
            nodes["up"] != 0,
            1.0 - nodes["free_cpu"] / nodes["cpu"],
            1.0 - nodes["free_memory"] / nodes["memory"],
            power_w,
        )
        self._load.append(row)
        clock["sample_s"] += self._demand.sample_s

    def _maintain(self) -> None:
        clock = self._state.clock[0]
        maintain = self._demand.maintain
        assert maintain is not None
        policy = maintain(np.concatenate(self._finished), float(clock["now_s"]))
        self._finished = []
        clock["maintain_s"] += self._demand.maintain_s
        if policy is not None:
            self._model = self._build_model(policy)

    def _build_model(self, policy: Policy) -> KernelModel:
        arrivals = self._arrivals
        return build_model(
            arrivals.cluster,
            arrivals.job_classes,
            policy,
            self._demand.allocations,
            arrivals.service_times,
        )


def _empty_output(allocations: int) -> KernelOutput:
    return KernelOutput(
        np.empty(_ROWS, layout.FINISHED_ROW), np.empty(allocations, layout.ALLOCATION_ROW)
    )
