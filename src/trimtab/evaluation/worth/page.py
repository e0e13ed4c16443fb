"""The page of what slim images are worth: one printed page, and what is folded below."""

import json
from pathlib import Path

from markupsafe import Markup

from trimtab.evaluation.report.blocks import Fold, templates
from trimtab.evaluation.report.page import packed, table_library, vega_bundle
from trimtab.evaluation.report.published import without_places
from trimtab.evaluation.report.tables import exact
from trimtab.evaluation.worth.cards import card_of
from trimtab.evaluation.worth.chart import ablation_chart
from trimtab.evaluation.worth.tables import images_table, settings_table
from trimtab.files import atomic_write
from trimtab.records.batch.worth import (
    SHOWN_FIRST,
    Worth,
    figure_name,
)

_MOST_CARDS, _MOST_PANELS = 5, 4


def write_worth_report(folder: Path) -> Path:
    """Write `report.html` from `worth.json` in `folder`, and return its path.

    Its tables and figures are also written to `tables` and `figures`. Raises as documents do when
    read.
    """
    worth = Worth.read(folder / "worth.json")
    shown = [name for name in SHOWN_FIRST if name in {each.name for each in worth.before.figures}]
    names = shown if worth.is_compared else []
    clear = [name for name in names if worth.after.figure(name).saving.is_clear]
    tables = [images_table(worth), settings_table(worth)]
    figures = [ablation_chart(worth, shown[:_MOST_PANELS])] if worth.is_compared else []
    for table in tables:
        table.write_csv(folder / "tables")
    for figure in figures:
        figure.write_svg(folder / "figures")
    page = (
        templates()
        .get_template("worth.html.j2")
        .render(
            worth=worth,
            cards=[card_of(worth, name) for name in clear[:_MOST_CARDS]],
            unchanged=[figure_name(name) for name in names if name not in clear],
            figures=figures,
            folds=[Fold(table.title, table) for table in tables],
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
