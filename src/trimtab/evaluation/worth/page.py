"""The page of what slim images are worth: one printed page, and what is folded below."""

from pathlib import Path

from trimtab.evaluation.report.blocks import Fold
from trimtab.evaluation.report.own_page import write_own_page
from trimtab.evaluation.worth.cards import card_of
from trimtab.evaluation.worth.chart import ablation_chart
from trimtab.evaluation.worth.tables import images_table, settings_table
from trimtab.records.batch.worth import SHOWN_FIRST, Worth, figure_name

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
    return write_own_page(
        folder,
        "worth.html.j2",
        tables,
        figures,
        worth=worth,
        cards=[card_of(worth, name) for name in clear[:_MOST_CARDS]],
        unchanged=[figure_name(name) for name in names if name not in clear],
        folds=[Fold(table.title, table) for table in tables],
    )
