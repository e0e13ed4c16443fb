"""The page of one command's results: a template of its own, with the parts of every report."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from trimtab.evaluation.report.blocks import templates
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.page import packed, table_library, vega_bundle
from trimtab.evaluation.report.published import without_places
from trimtab.evaluation.report.tables import Table, exact
from trimtab.files import atomic_write


def write_own_page(
    folder: Path, template: str, tables: Sequence[Table], figures: Sequence[Figure], **shown: Any
) -> Path:
    """Write `report.html` into `folder`, and return its path.

    The `template` is given `figures` and `shown`. Tables and figures are also written to `tables`
    and `figures`.
    """
    for table in tables:
        table.write_csv(folder / "tables")
    for figure in figures:
        figure.write_svg(folder / "figures")
    page = (
        templates()
        .get_template(template)
        .render(
            **shown,
            figures=figures,
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
