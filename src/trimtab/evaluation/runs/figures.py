"""The sizes before and after, and the run times of the interleaved runs."""

import altair as alt

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.figures import AFTER, BEFORE, Figure, data, in_order, specification
from trimtab.evaluation.report.tables import Row, Table
from trimtab.evaluation.runs.pairs import DEBLOATED, ORIGINAL


def size_figure(sizes: Table) -> Figure:
    """Return the sizes of `sizes` (library_tables.size_table) before and after, side by side."""
    values = [
        {
            "target": row["name"],
            "size": _size_name(row),
            "state": state,
            "mb": row[key],
            "order": order,
        }
        for row in sizes.rows
        if row["scope"] != DEBLOATED and row["kind"] != "file length"
        for order, (state, key) in enumerate((("before", "before_mb"), ("after", "after_mb")))
    ]
    base = alt.Chart(data(values)).encode(
        y=alt.Y("state:N", sort=["before", "after"], title=None, axis=None),
        x=alt.X("mb:Q", title="MB"),
    )
    bars = base.mark_bar(height=14).encode(
        color=alt.Color(
            "state:N",
            scale=alt.Scale(domain=["before", "after"], range=[BEFORE, AFTER]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        tooltip=["target:N", "size:N", "state:N", alt.Tooltip("mb:Q", format=",.1f")],
    )
    labels = base.mark_text(align="left", dx=4).encode(text=alt.Text("mb:Q", format=",.1f"))
    rows = alt.Row(
        "size:N",
        sort=in_order(value["size"] for value in values),
        title=None,
        header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=220),
    )
    panels = [
        alt.layer(bars, labels)
        .transform_filter(alt.FieldEqualPredicate(field="target", equal=target))
        .properties(width=430, height=40)
        .facet(row=rows, spacing=6, title=alt.TitleParams(str(target)))
        for target in in_order(value["target"] for value in values)
    ]
    return Figure(
        "sizes",
        "Sizes before and after",
        "All shared libraries of each target: what the file system allocates, what they take "
        "compressed, and what a run holds of them in memory.",
        specification(alt.vconcat(*panels, spacing=24)),
    )


def _size_name(row: Row) -> str:
    """Return the kind of size, with the workload where it is not the target's only one."""
    own = row["kind"] != "resident" or row["scope"] == row["name"]
    return str(row["kind"]) if own else f"{row['kind']}, {row['scope']}"


def run_time_figure(measurements: Measurements) -> Figure:
    """Return the run time of every interleaved run, a line for each pair."""
    values = []
    for target in measurements.targets:
        good = target.runs[target.runs["exit_code"] == 0]
        for run in good[good["condition"].isin([ORIGINAL, DEBLOATED])].to_dict("records"):
            name = run["workload"]
            values.append(
                {
                    "workload": name if name == target.label else f"{name}, {target.label}",
                    **{key: run[key] for key in ("condition", "repeat", "wall_s")},
                }
            )
    base = alt.Chart(data(values)).encode(
        x=alt.X(
            "condition:N",
            sort=[ORIGINAL, DEBLOATED],
            title=None,
            axis=alt.Axis(labelAngle=0, grid=False),
        ),
        y=alt.Y("wall_s:Q", title="Run time, s", scale=alt.Scale(zero=False, padding=12)),
    )
    colour = alt.Color(
        "condition:N",
        scale=alt.Scale(domain=[ORIGINAL, DEBLOATED], range=[BEFORE, AFTER]),
        legend=None,
    )
    pairs = base.mark_line(color="#d5dbe1").encode(detail="repeat:Q")
    points = base.mark_circle(size=60, opacity=0.9).encode(
        color=colour,
        tooltip=["condition:N", "repeat:Q", alt.Tooltip("wall_s:Q", format=".3f")],
    )
    medians = base.mark_tick(thickness=3, width=60).encode(
        y=alt.Y("median(wall_s):Q"), color=colour
    )
    chart = (
        alt.layer(pairs, points, medians)
        .properties(width=200, height=220)
        .facet(facet=alt.Facet("workload:N", title=None), columns=3)
        .resolve_scale(y="independent")
    )
    return Figure(
        "run_times",
        "Run time of every interleaved run",
        "A dot is a run, a grey line joins the two runs of a pair, the bar is the median. The "
        "axis does not start at zero.",
        specification(chart),
    )
