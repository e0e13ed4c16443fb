"""The share of GPU code in libraries, and why its elements were removed."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import altair as alt
from markupsafe import Markup

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.libraries.size_columns import NO_GPU_CODE
from trimtab.evaluation.report.blocks import Block, Prose
from trimtab.evaluation.report.figures import (
    BEFORE,
    CPU_COLOUR,
    GPU_COLOUR,
    HIGHLIGHT,
    INK,
    Figure,
    data,
    hover,
    scaled,
    specification,
)
from trimtab.evaluation.report.published import places, stated, titled
from trimtab.evaluation.report.section import GPU_CODE, TargetSection
from trimtab.evaluation.report.tables import MB

_LARGEST = 4
_PARTS = ("GPU code", "CPU code", "other")
_REASONS = {
    "elements_architecture": "I: for another architecture",
    "elements_unused": "II: no kernel was used",
    "elements_ptx": "III: PTX that is not needed",
}
_COLOURS = {
    _PARTS: (GPU_COLOUR, CPU_COLOUR, BEFORE),
    tuple(_REASONS.values()): (GPU_COLOUR, HIGHLIGHT, BEFORE),
}
_TITLE_LETTERS = 100  # per line


class GpuCodeShares(TargetSection):
    """The original shares of GPU code, and the reasons of removal of its elements."""

    order = 200
    chapter = GPU_CODE

    def make_figures(self) -> Iterator[Figure]:
        """Both figures, if there is GPU code."""
        if self.measurements.have_gpu_code:
            yield _cpu_and_gpu_code(self.measurements)
            yield _reasons_of_removal(self.measurements)

    def page(self) -> Iterator[Block]:
        """Yield the figures, or a text why there are none."""
        if not self.figures:
            yield Prose(
                Markup("<p>{} {} (CPU and GPU code in the largest libraries) and {} (why elements "
                       "were removed) have nothing to show and are left out.</p>").format(
                    NO_GPU_CODE.removesuffix(".") + ":",
                    places("cpu_and_gpu_code"),
                    places("reasons_of_removal"),
                )
            )  # fmt: skip
        yield from self.figures


def _cpu_and_gpu_code(measurements: Measurements) -> Figure:
    """Return CPU and GPU code in the four largest libraries of each environment.

    Targets with the same four libraries share a panel; those without GPU code have none.
    """
    panels: dict[tuple[tuple[str, int], ...], list[DebloatedTarget]] = {}
    for target in measurements.targets:
        if target.has_gpu_code:
            largest = target.libraries.nlargest(_LARGEST, "size_before_bytes")
            sizes = zip(largest["library"], largest["size_before_bytes"], strict=True)
            panels.setdefault(tuple(sizes), []).append(target)
    charts = [
        _stacked(_parts(targets[0]), "library", "part", "mb", _PARTS).properties(
            title=wrap(", ".join(target.label for target in targets), _TITLE_LETTERS)
        )
        for targets in panels.values()
    ]
    name = "cpu_and_gpu_code"
    return Figure(
        name,
        titled("CPU and GPU code in the four largest shared libraries", name),
        "Shares of the original files; other: data, symbols and all the rest. Published, for "
        f"PyTorch: {stated(name, 'gpu_code_share_lowest_pct'):.0f} to "
        f"{stated(name, 'gpu_code_share_highest_pct'):.0f} % is GPU code.",
        specification(alt.vconcat(*charts, spacing=24)),
    )


def _reasons_of_removal(measurements: Measurements) -> Figure:
    """Return the reasons of removal of elements of GPU code, by target.

    A target that kept all its elements has no bar.
    """
    values = [
        {"target": target.label, "reason": reason, "elements": int(target.libraries[key].sum())}
        for target in measurements.targets
        if target.libraries[[*_REASONS]].to_numpy().any()
        for key, reason in _REASONS.items()
    ]
    name = "reasons_of_removal"
    return Figure(
        name,
        titled("Why elements of GPU code were removed", name),
        "Shares of the removed elements. The paper knows Reasons I and II; Reason III is PTX that "
        "no GPU of the target would compile. Published: Reason I is over "
        f"{stated(name, 'elements_architecture_share_pct'):.0f} % in every workload.",
        specification(_stacked(values, "target", "reason", "elements", tuple(_REASONS.values()))),
    )


def _parts(target: DebloatedTarget) -> list[dict[str, Any]]:
    rows = target.libraries.nlargest(_LARGEST, "size_before_bytes")
    parts = []
    for row in rows.to_dict("records"):
        gpu, cpu = row["gpu_bytes_before"], row["function_bytes_before"]
        sizes = (gpu, cpu, row["size_before_bytes"] - gpu - cpu)
        parts += [
            {"library": str(row["library"]).rpartition("/")[2], "part": part, "mb": size / MB}
            for part, size in zip(_PARTS, sizes, strict=True)
        ]
    return parts


def _stacked(
    values: list[dict[str, Any]], bar: str, part: str, quantity: str, parts: tuple[str, ...]
) -> Any:
    """Return bars of 100 %, one per `bar`, stacked in the order of `parts`."""
    ranks = "".join(f"datum.{part} == '{name}' ? {i} : " for i, name in enumerate(parts))
    base = (
        alt.Chart()
        .transform_calculate(rank=f"{ranks}{len(parts)}")
        .transform_stack(
            stack=quantity,
            as_=["start", "end"],
            groupby=[bar],
            offset="normalize",
            sort=[alt.SortField("rank")],
        )
        .transform_calculate(
            middle="(datum.start + datum.end) / 2",
            share="datum.end - datum.start",
        )
        .encode(y=alt.Y(f"{bar}:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)))
    )
    legend = alt.Legend(title=None, orient="top", labelLimit=260)
    bars = base.mark_bar(height=20).encode(
        x=alt.X("start:Q", title="Share", axis=alt.Axis(format="%")),
        x2="end:Q",
        color=scaled(alt.Color, f"{part}:N", parts, _COLOURS[parts], legend=legend),
        tooltip=hover(bar, part, **{quantity: ",.1f" if quantity == "mb" else ",d"}, share=".1%"),
    )
    # Labels that do not fit are only in the tooltip.
    labels = (
        base.transform_filter("datum.share >= 0.08")
        .mark_text(fontSize=11)
        .encode(
            x="middle:Q",
            text=alt.Text("share:Q", format=".1%"),
            color=alt.condition(
                f"datum.rank < {len(parts) - 1}", alt.value("white"), alt.value(INK)
            ),
        )
    )
    return alt.layer(bars, labels, data=data(values)).properties(width=460, height=alt.Step(30))
