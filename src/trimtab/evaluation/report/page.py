"""One self-contained page: methods, results and caveats."""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import vl_convert
from markupsafe import Markup

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.blocks import templates
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.figures import VEGA_LITE
from trimtab.evaluation.report.first_page import chart_of, strip_of
from trimtab.evaluation.report.published import without_places
from trimtab.evaluation.report.section import ReportSection
from trimtab.evaluation.report.stages import stages_of, unchanged_in_words
from trimtab.evaluation.report.tables import exact
from trimtab.files import atomic_write, user_cache
from trimtab.records.outcome import Outcome, mb

_NO_CARD = {"No change": Effect.UNCLEAR, "Seen only once": Effect.ONCE}


def render(measurements: Measurements, sections: Sequence[ReportSection], outcome: Outcome) -> str:
    """Return the page of these sections as HTML; `outcome` says what would bring more.

    The page contains scripts, styles and data; its content policy forbids any request. Without
    JavaScript, it shows the SVG figures and complete tables.
    """
    failed = {target.label for target in measurements.targets if not target.verdict.passed}
    stages = stages_of(sections, failed)
    strip = strip_of(stages)
    more = [each for environment in outcome.environments for each in environment.more]
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            inputs=measurements.inputs,
            targets=measurements.targets,
            schedules=measurements.schedules,
            top=[block for section in sections for block in section.top()],
            strip=strip,
            unchanged={
                words: list(unchanged_in_words(stages, effect))
                for words, effect in _NO_CARD.items()
            },
            lead=chart_of(sections, strip),
            more=more,
            failed=failed,
            mb=mb,
            stages=stages,
            caveats=format_remark(remark for section in sections for remark in section.caveats()),
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
    """Return Vega, Vega-Lite and Vega-Embed as one script, packed.

    It is kept in the user's cache, as it takes a second to make.
    """
    with suppress(OSError, RuntimeError, ValueError, zlib.error):
        kept = _kept_bundle().read_text()
        unpacked(kept)  # fails unless it is whole
        return kept
    bundle = packed(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))
    with suppress(OSError, RuntimeError), atomic_write(_kept_bundle()) as temporary:
        temporary.write_text(bundle)
    return bundle


def _kept_bundle() -> Path:
    made_by = version("vl-convert-python")
    return user_cache() / f"vega-{VEGA_LITE}-{made_by}.txt"


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


def unpacked(packed_text: str) -> str:
    """Return the text of what `packed` returned; ValueError or zlib.error if it is damaged."""
    return zlib.decompress(b64decode(packed_text), wbits=-zlib.MAX_WBITS).decode()
