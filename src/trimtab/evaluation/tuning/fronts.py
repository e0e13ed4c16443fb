"""The Pareto fronts of searches by several objectives."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedCell, TunedSetting, values_in
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.schedules.section import own_figure_of, palette_colour
from trimtab.evaluation.tuning.section import TuningSection


class Fronts(TuningSection):
    """The trials of all tuners by the first objective and each other."""

    order = 637

    def make_figures(self) -> Iterator[Figure]:
        """Yield a plane for each further objective of a setting."""
        yield from own_figure_of(
            "pareto_fronts",
            "What one objective costs another",
            "Each dot is a trial on the largest budget of its search. A line joins the Pareto "
            "front: no trial of the search is as good by all objectives and better by one. A "
            "diamond is the chosen trial.",
            [panel for setting in self.settings if (panel := _panel(setting)) is not None],
        )


def _panel(setting: TunedSetting) -> Any:
    trials = [trial for cell in setting.cells for trial in _trials(cell)]
    names = list(trials[0][1]) if trials else []
    if len(names) < 2:
        return None
    tuners = [cell.label for cell in setting.cells]
    charts = []
    for name in names[1:]:
        points = [
            {**about, "x": values[name], "y": values[names[0]]}
            for about, values in trials
            if values.keys() >= {name, names[0]}
        ]
        base = alt.Chart(data(points)).encode(
            x=alt.X("x:Q", title=name, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=names[0], scale=alt.Scale(zero=False)),
            color=palette_colour("tuner", tuners, "Tuner"),
            tooltip=hover("search", trial="d", x=".4~g", y=".4~g"),
        )
        dots = base.mark_point(filled=True, opacity=0.6)
        front = base.transform_filter("datum.on_front").mark_line().encode(detail="search:N")
        chosen = base.transform_filter("datum.chosen").mark_point(shape="diamond", size=160)
        charts.append(alt.layer(dots, front, chosen).properties(width=320, height=220))
    return alt.hconcat(*charts, title=alt.TitleParams(setting.label))


def _trials(cell: TunedCell) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the facts of each trial on its search's largest budget, and its values."""
    for search in cell.searches:
        best = search.best
        if best is None:
            continue
        budget = ["fold", "epochs", "data_fraction"]
        full = search.trials[(search.trials[budget] == best[budget]).all(axis=1)]
        for row in full.dropna(subset=["score"]).to_dict("records"):
            about = {
                "tuner": cell.label,
                "search": f"{cell.label}, seed {search.seed}",
                "trial": int(row["trial"]),
                "on_front": row["on_front"] is True,
                "chosen": row["chosen"] is True,
            }
            yield about, values_in(row["values"])
