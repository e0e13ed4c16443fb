"""HEATS: each task runs on the best node for its weight of energy and performance.

Rocha's thesis, sections 3.2 and 3.3.4, algorithms 2 to 4. Two optional extensions: choosing the
frequency level with the node, and image pull and cold start in the score.

The score of a candidate, in exactly this order of operations (64-bit floating point):

    performance = 1 / run_time_s
    score = energy_weight * (1 - energy_j / largest energy_j)
            + (1 - energy_weight) * (performance / largest performance)

where "largest" is over the candidates: the nodes with room, at their highest level or, with
`choose_level`, at each. The score lies between 0 and 1. The best wins, among equals the node of the
lowest number and then the lowest level. The score depends on a node's type and on whether it has
the image. So a simulator needs only the first node with room of each kind.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, Policy, RunningTask
from trimtab.policies.layout import HEATS, KernelModel

_MASK = (1 << 64) - 1


class ScoredNode(NamedTuple):
    """A node and a level with its score."""

    score: float
    node: int
    level: int


def random_weight(seed: int, job: int) -> float:
    """Return the weight of `job` under `rall` (section 3.4.5): uniform in [0, 1), by the seed.

    The 53 high bits of SplitMix64 (Steele, Lea and Flood) at state `seed + (job + 1) * gamma`,
    modulo 2^64. It needs no state of earlier jobs, so traces may exceed memory.
    """
    state = (seed + (job + 1) * 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((state ^ (state >> 31)) >> 11) * 2.0**-53


class Heats(Policy):
    """HEATS over predictions; waiting tasks are retried in the order of arrival.

    `run_time_s` and `energy_j` are predictions, [job class, node type, level]; entries from
    `levels[node type]` on are not read. `energy_weight` is H, one number or one per job class: 0
    for performance alone, 1 for energy alone. With `weight_seed` every job has a random weight
    instead. A running task moves only if its score grows by more than `migration_gain`; at 0 any
    better node suffices, an equal one never. With `restarts_moved` it starts again there (section
    3.3.5: jobs are stateless), or else continues. `set_up_s` and `set_up_j`, [has image (0, 1), job
    class, node type], are added to the predictions of nodes other than the task's own.

    Running tasks stay while pending ones have room (section 3.3.4). `maintenance`, called every
    `maintain_s`, returns the next policy (section 3.3.3).
    """

    hold_when_pending = True
    placement_rule = HEATS

    def __init__(
        self,
        run_time_s: ArrayLike,
        energy_j: ArrayLike,
        levels: ArrayLike,
        *,
        energy_weight: ArrayLike = 1.0,
        weight_seed: int | None = None,
        choose_level: bool = False,
        migration_gain: float = 0.0,
        restarts_moved: bool = False,
        tick_s: float = 60.0,
        set_up_s: ArrayLike | None = None,
        set_up_j: ArrayLike | None = None,
        maintain_s: float = math.inf,
        maintenance: Callable[[pd.DataFrame, float], "Heats"] | None = None,
    ) -> None:
        """Raise UserError for wrong shapes or figures out of range."""
        self.run_time_s: NDArray[np.float64] = np.asarray(run_time_s, dtype=np.float64)
        self.energy_j: NDArray[np.float64] = np.asarray(energy_j, dtype=np.float64)
        self.levels: NDArray[np.int64] = np.asarray(levels, dtype=np.int64)
        shape = self.run_time_s.shape
        if len(shape) != 3 or self.energy_j.shape != shape or self.levels.shape != shape[1:2]:
            raise UserError(
                "heats: run_time_s and energy_j need the shape [job class, node type, level], and "
                f"levels [node type]: {shape}, {self.energy_j.shape}, {self.levels.shape} given"
            )
        self.energy_weight: NDArray[np.float64] = np.broadcast_to(
            np.asarray(energy_weight, dtype=np.float64), shape[:1]
        ).copy()
        self.set_up_s = _set_up("set_up_s", set_up_s, shape)
        self.set_up_j = _set_up("set_up_j", set_up_j, shape)
        self.weight_seed = weight_seed
        self.choose_level = choose_level
        self.migration_gain = migration_gain
        self.restarts_moved = restarts_moved
        self.tick_s = tick_s
        self.maintain_s, self._maintenance = maintain_s, maintenance
        self._check()
        # Plain lists: reading single numbers from arrays is slow.
        self._time, self._energy = self.run_time_s.tolist(), self.energy_j.tolist()
        self._more_s, self._more_j = self.set_up_s.tolist(), self.set_up_j.tolist()

    def weight(self, task: PendingTask) -> float:
        """Return the energy weight of `task`; its performance weight is the rest to 1."""
        if self.weight_seed is not None:
            return random_weight(self.weight_seed, task.job)
        return float(self.energy_weight[task.job_class])

    def scores(
        self, task: PendingTask, nodes: Sequence[NodeState], running_on: int | None = None
    ) -> list[ScoredNode]:
        """Return the scored candidates for `task` among `nodes`, in their order (algorithm 4)."""
        places: list[tuple[int, int]] = []
        energies: list[float] = []
        performances: list[float] = []
        for state in nodes:
            kind, image = state.node_type, int(state.has_image)
            more_s = more_j = 0.0
            if state.node != running_on:
                more_s = self._more_s[image][task.job_class][kind]
                more_j = self._more_j[image][task.job_class][kind]
            highest = int(self.levels[kind]) - 1
            for level in range(0 if self.choose_level else highest, highest + 1):
                places.append((state.node, level))
                energies.append(self._energy[task.job_class][kind][level] + more_j)
                performances.append(1.0 / (self._time[task.job_class][kind][level] + more_s))
        most_j, most_performance = max(energies, default=0.0), max(performances, default=0.0)
        energy_weight = self.weight(task)
        performance_weight = 1.0 - energy_weight
        return [
            ScoredNode(
                energy_weight * (1.0 - energy / most_j)
                + performance_weight * (performance / most_performance),
                *place,
            )
            for place, energy, performance in zip(places, energies, performances, strict=True)
        ]

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the best fitting node with room and its level (algorithms 2 and 4)."""
        candidates = self.scores(task, nodes)
        if not candidates:
            return None
        best = best_of(candidates)
        return Placement(best.node, best.level)

    def reconsider(self, running: RunningTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return a better place for `running` than its own (algorithm 3); None: it stays."""
        candidates = self.scores(running.task, nodes, running_on=running.node)
        own = [
            candidate.score
            for candidate in candidates
            if (candidate.node, candidate.level) == (running.node, running.level)
        ]
        if not own:
            return None
        best = best_of(candidates)
        if best.score - own[0] > self.migration_gain:
            return Placement(best.node, best.level)
        return None

    def maintain(self, finished: pd.DataFrame, now_s: float) -> Policy | None:
        """Return a policy with predictions retrained on `finished`."""
        return self._maintenance(finished, now_s) if self._maintenance else None

    def fill_kernel(self, model: KernelModel) -> None:
        """Put predictions, set-up costs and weights into the tables."""
        classes, types, most = model.paces.shape
        if self.run_time_s.shape[:2] != (classes, types) or self.run_time_s.shape[2] < most:
            message = f"predictions of shape {self.run_time_s.shape}, expected {model.paces.shape}"
            raise UserError(f"heats: {message}: job class, node type, level")
        rules = model.rules
        rules["choose_level"], rules["migration_gain"] = self.choose_level, self.migration_gain
        rules["random_weights"] = self.weight_seed is not None
        rules["weight_seed"] = self.weight_seed or 0
        rules["scores_images"] = self.set_up_s.any() or self.set_up_j.any()
        model.classes["energy_weight"] = self.energy_weight
        model.paces["run_time_s"] = self.run_time_s[:, :, :most]
        model.paces["energy_j"] = self.energy_j[:, :, :most]
        model.sites["absent_s"], model.sites["present_s"] = self.set_up_s
        model.sites["absent_j"], model.sites["present_j"] = self.set_up_j

    def _check(self) -> None:
        if self.levels.min(initial=1) < 1 or self.levels.max(initial=1) > self.run_time_s.shape[2]:
            raise UserError(
                f"heats: levels: {self.levels.tolist()} given, expected 1 to "
                f"{self.run_time_s.shape[2]} for each node type"
            )
        used = np.arange(self.run_time_s.shape[2]) < self.levels[:, np.newaxis]
        for key, values in (("run_time_s", self.run_time_s), ("energy_j", self.energy_j)):
            wrong = used & ~((values > 0) & np.isfinite(values))
            if wrong.any():
                at = [int(index) for index in np.argwhere(wrong)[0]]
                raise UserError(f"heats: {key}{at}: {values[tuple(at)]} is not a number above 0")
        if not ((self.energy_weight >= 0) & (self.energy_weight <= 1)).all():
            given = self.energy_weight.tolist()
            raise UserError(f"heats: energy_weight: {given} given, expected 0 to 1")
        if not self.migration_gain >= 0:
            raise UserError(f"heats: migration_gain: {self.migration_gain} is not at least 0")
        if not self.tick_s > 0:
            raise UserError(f"heats: tick_s: {self.tick_s} is not a time above 0 s")


def best_of(candidates: Sequence[ScoredNode]) -> ScoredNode:
    """Return the candidate of the highest score; ties by lowest node, then lowest level."""
    return min(candidates, key=lambda best: (-best.score, best.node, best.level))


def _set_up(key: str, given: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    expected = (2, *shape[:2])
    values = np.zeros(expected) if given is None else np.asarray(given, dtype=np.float64)
    if values.shape != expected or not (np.isfinite(values) & (values >= 0)).all():
        raise UserError(
            f"heats: {key}: expected numbers of at least 0 in the shape {expected}: image is there "
            f"(0, 1), job class, node type; the shape given is {values.shape}"
        )
    return values
