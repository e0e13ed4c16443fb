"""Several objectives at once: quality, time and price (Rocha's thesis, Figures 5.9 and 5.10)."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from trimtab.evaluation.characterization.section import DETAILS, WORKLOAD, CharacterizationSection
from trimtab.evaluation.characterization.strategies import STRATEGIES
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.report.tables import MODELLED, Column, Row, Table, compared
from trimtab.evaluation.schedules.section import figure_of, palette_colour

_OBJECTIVES = {"quality": -1, "train_s": 1, "price_usd": 1}  # 1: less is better
_LEAST_QUALITY = 0.8  # the thesis' goal
_CAPTION = (
    "Medians of each configuration's runs. The goal is the thesis': a quality of at least 0.8, "
    "or the defaults' quality if that is lower, at the shortest training and the lowest price. "
    "The Pareto front covers quality, training time and price over all strategies. Prices are "
    "modelled: time by the hour, network traffic by the GB. The change is from hyperparameters "
    "only, as in Figure 5.10."
)


class Objectives(CharacterizationSection):
    """The results of each strategy in quality, time and price."""

    order = 960

    @property
    def applies(self) -> bool:
        """Whether any configuration has a quality, a time and a price."""
        return super().applies and any(not own.empty for own in self._configurations.values())

    @property
    def _configurations(self) -> dict[str, pd.DataFrame]:
        found = {name: configurations_of(own) for name, own in self.by_workload.items()}
        return {name: own for name, own in found.items() if not own.empty}

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each workload and strategy."""
        yield compared(
            "multi_objective",
            "Quality, time and price",
            _CAPTION,
            (
                Column("strategy", "Strategy"),
                Column("configurations", "Configurations", 0),
                Column("on_front", "On the Pareto front", 0),
                Column("reach_goal", "Of the quality", 0),
                Column("train_s", "Shortest training of these, s", 3),
                Column("price_usd", "Least price of these, USD", 6),
                Column("inference_records_per_s", "Inference there, records/s", 0),
                Column("price_change_pct", "Price, change in %", 1),
                DETAILS,
            ),
            (
                row
                for name, own in self._configurations.items()
                for row in _rows(name, own, self.engines)
            ),
            who=WORKLOAD,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield quality over time and over price, a row of panels for each workload."""
        panels = [
            alt.hconcat(_panel(own, "train_s", "Training, s"), _panel(own, "price_usd", "USD"))
            .properties(title=alt.TitleParams(name))
            for name, own in self._configurations.items()
        ]  # fmt: skip
        yield from figure_of("multi_objective", "Quality, time and price", _CAPTION, panels)


def configurations_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each configuration of one workload: its phase, medians, and `on_front`.

    Configurations without a quality, a time or a price are left out.
    """
    complete = runs[runs["complete"].astype(bool)]
    metrics = [*_OBJECTIVES, "inference_records_per_s"]
    medians = complete.assign(**{name: complete[name].astype(float) for name in metrics}).groupby(
        ["phase", "settings"], as_index=False
    )[metrics].median()  # fmt: skip
    known = medians.dropna(subset=list(_OBJECTIVES)).reset_index(drop=True)
    costs = known[list(_OBJECTIVES)].to_numpy(dtype=float) * list(_OBJECTIVES.values())
    return known.assign(on_front=pareto_front(costs))


def pareto_front(costs: Any) -> list[bool]:
    """Return, for each row of costs to minimise, whether no other one dominates it."""
    return [
        not bool(((costs <= own).all(axis=1) & (costs < own).any(axis=1)).any()) for own in costs
    ]


def _rows(name: str, own: pd.DataFrame, engines: str) -> Iterator[Row]:
    defaults = own.loc[own["phase"] == "defaults", "quality"]
    least = min([_LEAST_QUALITY, *defaults])
    cheapest = {
        phase: float(of_it["price_usd"].min())
        for phase, of_it in own[own["quality"] >= least].groupby("phase")
    }
    for phase, strategy in STRATEGIES.items():
        tried = own[own["phase"] == phase]
        good = tried[tried["quality"] >= least]
        row: dict[str, Any] = {
            "name": name,
            "hardware": engines,
            "strategy": strategy,
            "configurations": len(tried),
            "on_front": int(tried["on_front"].sum()),
            "reach_goal": len(good),
            "source": MODELLED,
        }
        if not good.empty:
            fastest = good.loc[good["train_s"].idxmin()]
            throughput = fastest["inference_records_per_s"]
            row |= {
                "train_s": float(fastest["train_s"]),
                "price_usd": cheapest[phase],
                "inference_records_per_s": None if np.isnan(throughput) else float(throughput),
            }
        if phase == "joint" and cheapest.get("hyper", 0.0) > 0 and phase in cheapest:
            row["price_change_pct"] = 100 * (cheapest[phase] / cheapest["hyper"] - 1)
        yield row


def _panel(own: pd.DataFrame, metric: str, heading: str) -> Any:
    names = {"defaults": "defaults", **STRATEGIES}
    values = [
        {"strategy": names[phase], "x": float(x), "quality": float(quality), "front": bool(front)}
        for phase, x, quality, front in own[
            ["phase", metric, "quality", "on_front"]
        ].itertuples(index=False, name=None)
    ]  # fmt: skip
    return (
        alt.Chart(data(values))
        .mark_point(size=55)
        .encode(
            x=alt.X("x:Q", title=heading, scale=alt.Scale(zero=False)),
            y=alt.Y("quality:Q", title="Quality", scale=alt.Scale(zero=False)),
            color=palette_colour("strategy", list(names.values()), "Strategy"),
            fillOpacity=alt.condition("datum.front", alt.value(1), alt.value(0)),
            fill=palette_colour("strategy", list(names.values()), "Strategy").legend(None),
            tooltip=hover("strategy", "front", x=".4g", quality=".4f"),
        )
        .properties(width=260, height=200)
    )
