"""Tuning jobs that share a cluster: response times, simulated from measured durations.

Rocha's thesis, section 6.4.5: jobs are served in the order of arrival, with exponentially
distributed intervals. Workloads take turns, and a fifth of the jobs is unseen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from trimtab.evaluation.inputs.tunings import SeedSearch, TunedSetting
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.tables import Column, Row, Table, Value, compared, reduction_pct
from trimtab.evaluation.schedules.section import SIMULATED, figure_of, palette_colour
from trimtab.evaluation.tuning.section import TuningSection

UNSEEN = 0.2
_LOADS = (0.2, 0.35, 0.5, 0.65, 0.8)  # of the experiment's first tuner
_SHOWN_LOADS = (0.5, 0.8)
_JOBS = 20_000
_SEED = 1
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Met(NamedTuple):
    """A search, and whether it began with knowledge from earlier ones of its workload."""

    search: SeedSearch
    known: bool


Searches = tuple[Met, ...]


@dataclass(frozen=True)
class Tenants:
    """The tuners of some workloads that share a machine.

    `searches` are by tuner's label, then workload by workload.
    """

    label: str
    objective: str
    searches: Mapping[str, tuple[Searches, ...]]


class MultiTenant(TuningSection):
    """Mean response times of tuning jobs, by tuner and load."""

    order = 655

    @property
    def applies(self) -> bool:
        """Whether tuners are compared in any setting."""
        return super().applies and any(len(setting.cells) > 1 for setting in self.settings)

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each tuner, set of workloads and load."""
        yield compared(
            "multi_tenant",
            "Tuning jobs that share a cluster",
            f"Simulated: {_JOBS:,} jobs, one served at a time in the order of their arrival, at "
            "exponential intervals that give the first tuner this load. Each lasts as long as one "
            "of the tuner's searches of its workload did when it was measured. Where a tuner knows "
            "workloads again, a fifth of its jobs is unseen, if searches of both kinds were "
            "measured: those that began with the ground truth of earlier ones are a tuner of their "
            "own elsewhere, and one with these here. Less is so against the first tuner.",
            (
                Column("workloads", "Workloads"),
                Column("objective", "Objective"),
                Column("load", "Load", 2),
                Column("unseen", "Unseen jobs"),
                Column("response_s", "Mean response, s", 1),
                Column("response_reduction_pct", "Less, %", 1),
            ),
            [row for tenants in self._tenants() for row in _rows(tenants, _SHOWN_LOADS)],
            who=(Column("name", "Tuner"),),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the mean response time over the load, for each workload and for all in turn."""
        yield from figure_of(
            "multi_tenant",
            "Response times of tuning jobs",
            "Simulated with the measured durations of searches: jobs of all tuners arrive at "
            "the same times, and the first tuner sets the load. The thesis publishes for "
            "PipeTune against Tune V1 and V2: up to 30 % less (Type-I and II) and up to 65 % "
            "less (Type-III), without naming the load.",
            [panel for tenants in self._tenants() if (panel := _panel(tenants)) is not None],
        )

    def _tenants(self) -> Iterator[Tenants]:
        """Yield each workload alone, and workloads of the same tuners together."""
        together: dict[tuple[str, str, tuple[str, ...]], list[dict[str, Searches]]] = {}
        for setting in self.settings:
            searches = _by_tuner(setting)
            if len(searches) < 2:
                continue
            first = setting.baseline
            alone = {label: (of_tuner,) for label, of_tuner in searches.items()}
            yield Tenants(first.workload, first.objective, alone)
            key = first.hardware, first.objective, tuple(searches)
            together.setdefault(key, []).append(searches)
        for (_, objective, labels), workloads in together.items():
            if len(workloads) > 1:
                in_turn = {label: tuple(one[label] for one in workloads) for label in labels}
                yield Tenants("all in turn", objective, in_turn)


def _by_tuner(setting: TunedSetting) -> dict[str, Searches]:
    """Return the searches of each tuner, by label, including those of tuners after it."""
    labels = {cell.tuner: cell.label for cell in setting.cells}
    before = {cell.after for cell in setting.cells}
    found: dict[str, Searches] = {}
    for cell in setting.cells:
        label = labels.get(cell.after, cell.label)
        said = cell.after in labels if cell.after in labels or cell.tuner in before else None
        met = (Met(one, _is_known(one) if said is None else said) for one in cell.searches)
        found[label] = (*found.get(label, ()), *met)
    return found


def responses(intervals_s: FloatArray, services_s: FloatArray) -> FloatArray:
    """Return the response time of each job, in seconds, served one by one as they arrive.

    Lindley's recursion: a job waits for the previous job's waiting and service time, minus the
    interval between both. The first interval is before the first job.
    """
    steps = np.concatenate([[0.0], services_s[:-1] - intervals_s[1:]])
    walk = np.cumsum(steps)
    waits: FloatArray = walk - np.minimum.accumulate(walk)
    return waits + services_s


def _rows(tenants: Tenants, loads: Sequence[float]) -> Iterator[Row]:
    random = np.random.default_rng(_SEED)
    gaps = random.exponential(1.0, _JOBS)
    unseen = random.random(_JOBS) < UNSEEN
    which = random.random(_JOBS)
    services = {
        label: _services(workloads, unseen, which) for label, workloads in tenants.searches.items()
    }
    first = next(iter(services.values()))
    for load in loads:
        before: float | None = None
        for label, of_tuner in services.items():
            # All tuners get the arrival rate that gives the first one this load.
            mean_s = float(responses(gaps * first.mean() / load, of_tuner).mean())
            row: dict[str, Value] = {
                "name": label, "workloads": tenants.label, "objective": tenants.objective,
                "load": load, "unseen": _unseen_in_words(tenants.searches[label]),
                "response_s": mean_s, "source": SIMULATED,
            }  # fmt: skip
            if before is None:
                before = mean_s
            else:
                row["response_reduction_pct"] = reduction_pct(before, mean_s)
            yield row


def _services(workloads: Sequence[Searches], unseen: Any, which: FloatArray) -> FloatArray:
    """Return each job's duration: workloads in turn, each with a measured search."""
    services = np.empty(len(which))
    turn = np.arange(len(which)) % len(workloads)
    for at, searches in enumerate(workloads):
        new, known = _durations(searches)
        for is_new, durations in ((True, new or known), (False, known or new)):
            jobs = (turn == at) & (unseen == is_new)
            services[jobs] = np.array(durations)[(which[jobs] * len(durations)).astype(int)]
    return services


def _durations(searches: Searches) -> tuple[list[float], list[float]]:
    """Return the durations of searches of new workloads, and of known ones."""
    new: list[float] = []
    known: list[float] = []
    for one in searches:
        (known if one.known else new).append(one.search.tuning_s)
    return new, known


def _is_known(search: SeedSearch) -> bool:
    """Whether the workload was known at the search's start: by the first trial that ended."""
    return bool(search.trials.sort_values("ended_s")["known"].iloc[0])


def _unseen_in_words(workloads: Sequence[Searches]) -> str:
    trials = [one.search.trials for searches in workloads for one in searches]
    if not any(one["epochs_probed"].any() or one["known"].any() for one in trials):
        return "makes no difference"
    kinds = [_durations(searches) for searches in workloads]
    if all(new and known for new, known in kinds):
        return f"{UNSEEN:.0%}"
    if not any(known for _, known in kinds):
        return "all: no search met a known workload"
    if not any(new for new, _ in kinds):
        return "none: every search met a known workload"
    return f"{UNSEEN:.0%} of the workloads with both"


def _panel(tenants: Tenants) -> Any:
    rows = list(_rows(tenants, _LOADS))
    tuners = in_order(row["name"] for row in rows)
    values = [dict(row) for row in rows]
    said = in_order(f"{row['name']}: {row['unseen']}" for row in rows
                    if row["unseen"] != "makes no difference")  # fmt: skip
    subtitle = [f"unseen jobs of {one}" for one in said] or ["no tuner knows workloads again"]
    axis = alt.Axis(format=".0%", values=list(_LOADS))
    return (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("load:Q", title="Load of the first tuner", axis=axis),
            y=alt.Y("response_s:Q", title="Mean response, s"),
            color=palette_colour("name", tuners, "Tuner"),
            tooltip=hover("name", "unseen", load=".0%", response_s=",.1f"),
        )
        .properties(
            width=420,
            height=210,
            title=alt.TitleParams(f"{tenants.label}, {tenants.objective}", subtitle=subtitle),
        )
    )
