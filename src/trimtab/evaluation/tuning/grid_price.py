"""The cost of trying every combination of parameters on rented instances.

Rocha's thesis, section 6.1: the cost grows exponentially with the number of parameters.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.published import Text, read_checked, titled
from trimtab.evaluation.report.tables import MODELLED, SOURCE_COLUMNS, Column, Row, Table
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

PRICES = Path(__file__).with_name("prices.yaml")
_CORES = "system.cores"
_MOST = 6  # parameters, with three values each: as published
_VALUES = 3
_S_PER_HOUR = 3600.0


class Instance(BaseModel):
    """An instance for rent: its name, its CPUs and its price."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: Text
    cpus: int = Field(ge=1, strict=True)
    usd_per_hour: float = Field(gt=0)


class Prices(BaseModel):
    """The file `prices.yaml`: the prices and their source."""

    model_config = ConfigDict(extra="forbid")
    source: Text
    instances: list[Instance] = Field(min_length=1)


class GridPrice(TuningSection):
    """The price of a grid over one to six parameters, from the durations of a grid's trials."""

    order = 660

    @property
    def applies(self) -> bool:
        """Whether every combination of two parameters or more was tried on known cores."""
        return super().applies and bool(self._rows)

    @property
    def _rows(self) -> list[Row]:
        return [row for cell in self.measurements.tunings for row in _costs(cell)]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each instance and number of parameters."""
        yield Table(
            "tuning_cost",
            titled("What trying every combination costs", "tuning_cost"),
            f"Modelled: a grid of {_VALUES} values a parameter, one trial after the other, times "
            "the instance's price. A trial takes the mean time of this machine's trials on as "
            "many cores, of which some ran at once. No instance was rented: another processor "
            f"takes another time. Prices: {prices().source}.",
            (
                *WHO,
                Column("instance", "Instance"),
                Column("cpus", "CPUs", 0),
                Column("usd_per_hour", "USD an hour", 5),
                Column("measured_trials", "Trials measured", 0),
                Column("trial_s", "Trial, s", 2),
                Column("parameters", "Parameters", 0),
                Column("trials", "Trials", 0),
                Column("tuning_s", "Tuning, s", 0),
                Column("cost_usd", "Cost, USD", 4),
                *SOURCE_COLUMNS,
            ),
            tuple(self._rows),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the cost over the number of parameters."""
        by_cell = [list(_costs(cell)) for cell in self.measurements.tunings]
        yield from figure_of(
            "tuning_cost",
            "What trying every combination costs",
            f"Modelled: {_VALUES} values a parameter, the measured time of a trial on as many of "
            f"this machine's cores, and the prices of {prices().source}. The axis of costs is "
            "logarithmic.",
            [_panel(rows) for rows in by_cell if rows],
        )


@cache
def prices(path: Path = PRICES) -> Prices:
    """Return the prices of a file; raises TrimtabError with file and key."""
    return read_checked(path, Prices)


def _costs(cell: TunedCell) -> Iterator[Row]:
    parameters = cell.parameters
    if not _is_grid(cell, parameters) or _CORES not in parameters:
        return
    times: pd.Series[Any] = cell.trials["wall_s"].where(cell.trials["score"].notna())
    by_cores = times.groupby(parameters[_CORES]).agg(["mean", "count"])
    for instance in prices().instances:
        if instance.cpus not in by_cores.index or not by_cores["count"][instance.cpus]:
            continue
        trial_s = float(by_cores["mean"][instance.cpus])
        for number in range(1, _MOST + 1):
            tuning_s = _VALUES**number * trial_s
            yield {
                **who(cell),
                "instance": instance.name,
                "cpus": instance.cpus,
                "usd_per_hour": instance.usd_per_hour,
                "measured_trials": int(by_cores["count"][instance.cpus]),
                "trial_s": trial_s,
                "parameters": number,
                "trials": _VALUES**number,
                "tuning_s": tuning_s,
                "cost_usd": tuning_s / _S_PER_HOUR * instance.usd_per_hour,
                "source": MODELLED,
            }


def _is_grid(cell: TunedCell, parameters: pd.DataFrame) -> bool:
    """Whether each search tried every combination of two hyperparameters or more, once."""
    varied = [name for name in parameters if parameters[name].nunique() > 1]
    combinations = prod(parameters[name].nunique() for name in varied)
    return len([name for name in varied if not str(name).startswith("system.")]) > 1 and all(
        len(search.trials) == combinations == len(parameters.loc[search.trials.index, varied]
                                                  .drop_duplicates())
        for search in cell.searches
    )  # fmt: skip


def _panel(rows: list[Row]) -> Any:
    values = [
        {**row, "which": f"{row['instance']}, {row['cpus']} CPU{'s' * (row['cpus'] != 1)}"}
        for row in rows
    ]
    instances = in_order(value["which"] for value in values)
    return (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("parameters:O", title="Parameters", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("cost_usd:Q", title="Cost, USD", scale=alt.Scale(type="log")),
            color=palette_colour("which", instances, "Instance"),
            tooltip=hover("which", trials=",d", tuning_s=",.0f", cost_usd=",.4f"),
        )
        .properties(width=420, height=230, title=str(rows[0]["workload"]))
    )
