"""Runs of images before and after: times and power.

In the first seed, times are in tables 4.1, 4.2 and A.1 to A.3 and figures 4.5 and A.1 to A.4. Power
is in figures 4.6 and A.5 to A.8.
"""

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.images.section import ImageSection, images_of
from trimtab.evaluation.report.figures import AFTER, BEFORE, Figure, data, scaled, specification
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import (
    MB,
    MEASURED,
    Column,
    Row,
    Table,
    compared,
    energy_source,
    number,
)
from trimtab.evaluation.runs.pairs import DEBLOATED, ORIGINAL, compare, spread_column

_SIDES = {ORIGINAL: "original", DEBLOATED: "slim"}
_WHO = (Column("name", "Workload"),)


class ImageRuns(ImageSection):
    """Time, processor time, memory and power of the interleaved runs of each image."""

    order = 61

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload of each image: its times, and its power and memory."""
        runs = dict(self._runs())
        yield compared(
            "image_run_cost",
            "Run time of the original and of the slim image",
            "Average of the runs, and their standard deviation beside it, as published; the"
            " difference is the median of the pairs that were interleaved, and below it the"
            " smallest and the largest. Workloads are smaller than the published ones: seconds on"
            " a CPU.",
            (
                Column("runs", "Runs", 0),
                Column("original_s", "Original, s", 2),
                Column("original_deviation_s", "\N{PLUS-MINUS SIGN}", 2),
                Column("slim_s", "Slim, s", 2),
                Column("slim_deviation_s", "\N{PLUS-MINUS SIGN}", 2),
                spread_column("wall_difference", "Difference, %"),
                Column("original_cpu_s", "CPU time, s", 2),
                Column("slim_cpu_s", "of the slim one, s", 2),
                spread_column("cpu_difference", "Difference, %"),
                Column("outputs", "Different outputs", 0),
            ),
            [_time_row(name, frame) for name, frame in runs.items()],
            who=_WHO,
        )
        yield compared(
            "image_power",
            "Power and memory of the original and of the slim image",
            "Averages of the same runs; power is energy by run time. Published figures are "
            "numbers only where the text states them for one image. A GPU is busy while any "
            "kernel runs.",
            (
                Column("original_w", "Original, W", 2),
                Column("slim_w", "Slim, W", 2),
                Column("energy_source", "Energy is"),
                Column("original_memory_mb", "Peak memory, MB", 1),
                Column("slim_memory_mb", "of the slim one, MB", 1),
                Column("original_gpu_memory_mb", "Peak GPU memory, MB", 1),
                Column("slim_gpu_memory_mb", "of the slim one, MB", 1),
                Column("original_gpu_busy_pct", "GPU busy, %", 1),
                Column("slim_gpu_busy_pct", "of the slim one, %", 1),
                Column("original_gpu_w", "GPU, W", 1),
                Column("slim_gpu_w", "of the slim one, W", 1),
            ),
            [_power_row(name, frame) for name, frame in runs.items()],
            who=_WHO,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield boxes of run time and of power, a panel for each workload."""
        runs = dict(self._runs())
        how = (
            "The box is the middle half of the runs, with its median; the whiskers reach the"
            " smallest and the largest. Axes do not start at zero. The published figures are"
            " printed without numbers."
        )
        times = {name: frame["wall_s"] for name, frame in runs.items()}
        yield Figure(
            "image_run_times",
            titled("Run time of the original and of the slim image", "image_run_times"),
            how,
            _boxes(runs, times, "Run time, s"),
        )
        power = {name: _power_w(frame) for name, frame in runs.items()}
        if any(values.notna().any() for values in power.values()):
            yield Figure(
                "image_power",
                titled("Power of the original and of the slim image", "image_power"),
                f"{how} Energy by run time.",
                _boxes(runs, power, "Power, W"),
            )

    def _runs(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield each workload with its successful runs."""
        for target in images_of(self.measurements):
            for workload in target.workloads:
                of_it = target.runs["workload"] == workload
                good = target.runs[of_it & target.runs["ended_well"]]
                if set(good["condition"]) >= {*_SIDES}:
                    name = workload if workload == target.label else f"{workload}, {target.label}"
                    yield name, good


def _time_row(name: str, runs: pd.DataFrame) -> Row:
    row = _row(name, runs)
    for condition, side in _SIDES.items():
        of_it = runs[runs["condition"] == condition]
        row |= {
            f"{side}_s": number(of_it["wall_s"].mean()),
            f"{side}_deviation_s": number(of_it["wall_s"].std()),
            f"{side}_cpu_s": number(of_it["cpu_s"].mean()),
        }
    for quantity in ("wall", "cpu"):
        difference = compare(runs, f"{quantity}_s")
        row |= difference.increase(f"{quantity}_difference") if difference else {}
    pairs = runs.pivot(index="repeat", columns="condition", values="wall_s").dropna()
    return row | {"runs": len(pairs), "outputs": int(runs["output_digest"].nunique())}


def _power_row(name: str, runs: pd.DataFrame) -> Row:
    row = _row(name, runs)
    power = _power_w(runs)
    for condition, side in _SIDES.items():
        chosen = runs["condition"] == condition
        row |= {
            f"{side}_w": number(power[chosen].mean()),
            f"{side}_memory_mb": _megabytes(runs.loc[chosen, "peak_rss_bytes"]),
            f"{side}_gpu_memory_mb": _megabytes(runs.loc[chosen, "peak_gpu_memory_bytes"]),
            f"{side}_gpu_busy_pct": _mean(100 * _numbers(runs.loc[chosen, "gpu_busy_share"])),
            f"{side}_gpu_w": _mean(
                _numbers(runs.loc[chosen, "gpu_energy_j"]) / runs.loc[chosen, "wall_s"]
            ),
        }
    has_energy = bool(power.notna().any())
    return row | {"energy_source": energy_source(runs["energy_source"]) if has_energy else None}


def _row(name: str, runs: pd.DataFrame) -> dict[str, Any]:
    return {"name": name, "hardware": str(runs["hardware"].iloc[0]), "source": MEASURED}


def _power_w(runs: pd.DataFrame) -> "pd.Series[float]":
    return runs["energy_j"].astype("float64") / runs["wall_s"]


def _megabytes(values: "pd.Series[float]") -> float | None:
    return _mean(_numbers(values) / MB)


def _numbers(values: "pd.Series[float]") -> "pd.Series[float]":
    return values.astype("float64")  # a column of only nulls would be objects


def _mean(values: "pd.Series[float]") -> float | None:
    return number(values.mean())


def _boxes(
    runs: dict[str, pd.DataFrame], quantities: dict[str, "pd.Series[float]"], title: str
) -> dict[str, Any]:
    """Return two boxes per workload; `quantities` has the runs' values, by workload."""
    values = [
        {"workload": name, "image": _SIDES[condition], "value": value}
        for name, frame in runs.items()
        for condition, value in zip(frame["condition"], quantities[name], strict=True)
        if pd.notna(value)
    ]
    sides = tuple(_SIDES.values())
    chart = (
        alt.Chart(data(values))
        .mark_boxplot(extent="min-max", size=36)
        .encode(
            x=alt.X("image:N", sort=sides, title=None, axis=alt.Axis(labelAngle=0, grid=False)),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False, padding=12)),
            color=scaled(alt.Color, "image:N", sides, (BEFORE, AFTER), legend=None),
        )
        .properties(width=160, height=180)
        .facet(facet=alt.Facet("workload:N", title=None, sort=list(runs)), columns=3)
        .resolve_scale(y="independent")
    )
    return specification(chart)
