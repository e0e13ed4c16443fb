"""The results of searches on cores shared with other jobs.

Rocha's thesis, section 6.2: error and training time of the found model, against a search alone on
the machine.
"""

from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table, reduction_pct
from trimtab.evaluation.schedules.section import figure_of
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

_JOBS, _CORES = "training.jobs", "system.cores"
_LESS = {"error_reduction_pct": "Less error, %", "training_reduction_pct": "Less training time, %"}


class SharedCoresCell(NamedTuple):
    """A cell searched on `cores` among `jobs`, and its best models, as medians over seeds."""

    cell: TunedCell
    cores: int
    jobs: int
    error: float
    training_s: float


class SharedCores(TuningSection):
    """Tuners on shared cores, against the first one alone on the most cores."""

    order = 634

    @property
    def applies(self) -> bool:
        """Whether there are a search alone on its cores, and others to compare."""
        return super().applies and bool(self._rows)

    @property
    def _rows(self) -> list[Row]:
        conditions = [
            found for cell in self.measurements.tunings if (found := _condition(cell)) is not None
        ]
        first = [one for one in conditions if one.cell.tuner == conditions[0].cell.tuner]
        alone = [one for one in first if one.jobs == 1]
        if not alone or max(one.jobs for one in conditions) == 1:
            return []
        baseline = max(alone, key=lambda one: one.cores)  # the first objective's wins ties
        return [_row(one, baseline) for one in conditions if one.cell is not baseline.cell]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each cell except the baseline."""
        rows = self._rows
        yield Table(
            "among_jobs",
            "Searches among other jobs",
            f"The best model of each search against {rows[0]['against']}. Jobs are all that "
            "train on the same cores, the search's trial included: the others start and end "
            "with it, on its CPUs. Below zero is more.",
            (
                *WHO,
                Column("cores", "Cores", 0),
                Column("jobs", "Jobs", 0),
                Column("error_pct", "Error, %", 2),
                Column("error_reduction_pct", "Less error, %", 1),
                Column("training_s", "Training, s", 1),
                Column("training_reduction_pct", "Less training time, %", 1),
                Column("against", "Against", in_report=False),
                *SOURCE_COLUMNS,
            ),
            tuple(rows),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield error and training time by cores and jobs, for each tuner and objective."""
        rows = self._rows
        kinds = in_order((row["name"], row["objective"]) for row in rows)
        yield from figure_of(
            "among_jobs",
            "Searches among other jobs",
            "Reduction of error and training time of the best model, against "
            f"{rows[0]['against']}. Below zero, orange, is more.",
            [
                _panel([row for row in rows if (row["name"], row["objective"]) == kind])
                for kind in kinds
            ],
        )


def _condition(cell: TunedCell) -> SharedCoresCell | None:
    """Return a cell's cores and jobs, if known and equal for all trials."""
    parameters = cell.parameters
    if not {_JOBS, _CORES} <= set(parameters):
        return None
    known = parameters[[_JOBS, _CORES]].dropna().drop_duplicates()
    best = [search.best for search in cell.searches if search.best is not None]
    if len(known) != 1 or not best:
        return None
    jobs, cores = map(int, known.iloc[0])
    return SharedCoresCell(
        cell, cores, jobs,
        median(1 - float(one["accuracy"]) for one in best),
        median(float(one["training_s"]) for one in best),
    )  # fmt: skip


def _row(one: SharedCoresCell, baseline: SharedCoresCell) -> Row:
    alone = baseline.cell
    return {
        **who(one.cell),
        "cores": one.cores,
        "jobs": one.jobs,
        "error_pct": 100 * one.error,
        "error_reduction_pct": reduction_pct(baseline.error, one.error),
        "training_s": one.training_s,
        "training_reduction_pct": reduction_pct(baseline.training_s, one.training_s),
        "against": f"{alone.label} for {alone.objective} on {baseline.cores} cores, alone",
        "source": "measured",
    }


def _panel(rows: list[Row]) -> Any:
    charts = []
    for key, heading in _LESS.items():
        values = [{**row, "less": row[key]} for row in rows if row[key] is not None]
        most = max([1.0, *(abs(float(value["less"] or 0)) for value in values)])
        base = alt.Chart(data(values)).encode(
            x=alt.X("cores:O", title="Cores", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("jobs:O", title="Jobs on them"),
        )
        colour = alt.Color(
            "less:Q",
            scale=alt.Scale(scheme="blueorange", domain=[-most, most], reverse=True),
            legend=alt.Legend(title=heading, gradientLength=100),
        )
        cells = base.mark_rect(stroke="white").encode(
            color=colour, tooltip=hover("cores", "jobs", less="+.1f")
        )
        words = base.mark_text().encode(text=alt.Text("less:Q", format="+.0f"))
        size = {"width": alt.Step(64), "height": alt.Step(40)}
        charts.append(alt.layer(cells, words).properties(**size))
    return (
        alt.hconcat(*charts)
        .resolve_scale(color="independent")
        .properties(title=f"{rows[0]['name']} for {rows[0]['objective']}")
    )
