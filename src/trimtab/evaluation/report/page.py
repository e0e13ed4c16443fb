"""One self-contained page: methods, results and caveats."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import vl_convert
from markupsafe import Markup

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.blocks import Block, templates
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.figures import VEGA_LITE
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.published import without_places
from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import exact


def render(measurements: Measurements, sections: Sequence[ReportSection]) -> str:
    """Return the page of these sections as HTML.

    The page contains scripts, styles and data; its content policy forbids any request. Without
    JavaScript, it shows the SVG figures and complete tables.
    """
    chapters: dict[Chapter, list[Block]] = {}
    key_figures: dict[str, list[KeyFigure]] = {}
    unchanged: dict[str, list[KeyFigure]] = {}
    failed = {target.label for target in measurements.targets if not target.verdict.passed}
    for section in sections:
        if section.chapter:
            chapters.setdefault(section.chapter, []).extend(section.page())
        for name, found in section.key_figures():
            unchanged.setdefault(name, []).extend(
                each for each in found.parts if not each.effect.is_shown
            )
            if card := found.card:
                if name in failed and card.effect is Effect.BETTER:  # it does not work
                    card = replace(card, effect=Effect.NONE)
                key_figures.setdefault(name, []).append(card)
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            inputs=measurements.inputs,
            targets=measurements.targets,
            schedules=measurements.schedules,
            top=[block for section in sections for block in section.top()],
            done=[block for section in sections for block in section.done()],
            key_figures=key_figures,
            unchanged={name: found for name, found in unchanged.items() if found},
            caveats=format_remark(remark for section in sections for remark in section.caveats()),
            chapters=chapters,
            specifications=packed(
                json.dumps(
                    {figure.name: figure.spec for section in sections for figure in section.figures}
                )
            ),
            drawn=lambda figure: Markup(figure.slim_svg),
            vega=vega_bundle(),
            tables=table_library(),
            exact=exact,
            without_places=without_places,
        )
    )


def format_remark(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return each remark once, with all its names in front."""
    names: dict[str, list[str]] = {}
    for name, remark in remarks:
        names.setdefault(remark, []).append(name)
    return [
        f"{', '.join(dict.fromkeys(of))}: {remark}" if any(of) else remark
        for remark, of in names.items()
    ]


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, packed."""
    return packed(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))


@cache
def table_library() -> dict[str, str]:
    """Return DataTables as one script, packed, and its licence."""
    templates = files("trimtab.evaluation") / "templates"
    return {
        "packed": packed((templates / "datatables.min.js").read_text()),
        "licence": (templates / "datatables.licence.txt").read_text().strip(),
    }


def packed(text: str) -> str:
    """Return a text for the page: compressed (raw deflate) in base 64."""
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return b64encode(compressor.compress(text.encode()) + compressor.flush()).decode()
