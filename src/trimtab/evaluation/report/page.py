"""One self-contained page: what was done, what came out, and what it cannot say."""

from collections.abc import Mapping, Sequence
from functools import cache

import jinja2
import vl_convert
from markupsafe import Markup

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import VEGA_LITE, Figure
from trimtab.evaluation.report.key_figures import key_figures
from trimtab.evaluation.report.tables import Table, exact
from trimtab.evaluation.runs.verification import caveats, verified
from trimtab.evaluation.schedules.deflator import without_dominated
from trimtab.evaluation.schedules.main_classes import shown_classes, without_other_classes
from trimtab.evaluation.schedules.remarks import schedule_caveats, schedule_key_figures

LIBRARIES_SHOWN = 25


def render(measurements: Measurements, tables: Sequence[Table], figures: Sequence[Figure]) -> str:
    """Return the page as HTML.

    Tables and figures are found by name. Scripts, styles and data are in the page, and its
    content policy forbids any request; without JavaScript the figures are the drawn SVGs.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trimtab.evaluation"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    by_name = {table.name: table for table in tables}
    schedules = measurements.schedules
    return environment.get_template("report.html.j2").render(
        inputs=measurements.inputs,
        targets=measurements.targets,
        profiles=measurements.profiles,
        have_gpu_code=measurements.have_gpu_code,
        verified=verified(measurements),
        caveats=[
            *(caveats(measurements) if measurements.targets else ()),
            *schedule_caveats(schedules),
        ],
        key_figures=key_figures(by_name)
        | (schedule_key_figures(schedules, by_name) if schedules.cells else {}),
        schedules=schedules,
        tables=by_name | (_for_the_page(schedules, by_name) if schedules.cells else {}),
        figures={figure.name: figure for figure in figures},
        drawn={figure.name: Markup(_without_prolog(figure.svg)) for figure in figures},
        specifications={figure.name: figure.spec for figure in figures},
        vega=Markup(_vega_bundle()),
        exact=exact,
        libraries_shown=LIBRARIES_SHOWN,
    )


def _for_the_page(schedules: Schedules, tables: Mapping[str, Table]) -> dict[str, Table]:
    shown = shown_classes(schedules)
    by_class = {
        name: without_other_classes(tables[name], shown) for name in ("schedule", "table_4_2")
    }
    return by_class | {"deflator": without_dominated(tables["deflator"])}


@cache
def _vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that may stand inside HTML."""
    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _without_prolog(svg: str) -> str:
    return svg[svg.index("<svg") :]
