"""The page of a queue under several policies."""

import json
from pathlib import Path

from markupsafe import Markup

from trimtab.evaluation.queue.charts import charts_of
from trimtab.evaluation.queue.results import read_results
from trimtab.evaluation.queue.tables import tables_of
from trimtab.evaluation.report.blocks import templates
from trimtab.evaluation.report.page import packed, table_library, vega_bundle
from trimtab.evaluation.report.published import without_places
from trimtab.evaluation.report.tables import exact
from trimtab.files import atomic_write


def write_queue_report(folder: Path) -> Path:
    """Write `report.html` from the files of `trimtab schedule simulate`, and return its path.

    Its tables and figures are also written to `tables` and `figures`. Raises as documents and
    tables do when read.
    """
    results = read_results(folder)
    tables, figures = list(tables_of(results)), list(charts_of(results))
    for table in tables:
        table.write_csv(folder / "tables")
    for figure in figures:
        figure.write_svg(folder / "figures")
    page = (
        templates()
        .get_template("queue.html.j2")
        .render(
            queue=results.document,
            blocks=[tables[0], *figures, *tables[1:]],
            specifications=packed(json.dumps({each.name: each.spec for each in figures})),
            drawn=lambda figure: Markup(figure.slim_svg),
            vega=vega_bundle(),
            tables=table_library(),
            exact=exact,
            without_places=without_places,
        )
    )
    path = folder / "report.html"
    with atomic_write(path) as temporary:
        temporary.write_text(page)
    return path
