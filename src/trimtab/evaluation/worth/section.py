"""What each stage of the chain is worth to the jobs of traces."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.evaluation.worth.cards import card_of
from trimtab.evaluation.worth.chart import ablation_chart
from trimtab.evaluation.worth.tables import settings_table
from trimtab.records.batch.worth import SHOWN_FIRST, Worth, change_of

_MOST_PANELS = 4
_CELL = ("cluster", "trace", "policy")
WORTH = Chapter("worth", "What each stage is worth", "Worth")


class ChainWorth(ReportSection):
    """The ablation of the chain's stages, for each cluster, trace and policy."""

    stage = "worth"
    order = 12
    chapter = WORTH

    def make_figures(self) -> Iterator[Figure]:
        """Yield the ablation of each cell."""
        for cell, worth in self._cells():
            if not worth.is_compared:
                continue
            there = {each.name for each in worth.before.figures}
            shown = [name for name in SHOWN_FIRST if name in there]
            figure = ablation_chart(worth, shown[:_MOST_PANELS])
            # Page one shows the figure `ablation`.
            name = "ablation" if cell == next(iter(self.results)) else "_".join(("ablation", *cell))
            yield replace(figure, name=name, title=f"What each stage changes: {_label(cell)}")

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield what all stages together change."""
        for cell, worth in self._cells():
            there = {each.name for each in worth.before.figures}
            for name in SHOWN_FIRST:
                if name in there:
                    yield _label(cell), card_of(worth, name)

    def make_tables(self) -> Iterator[Table]:
        """Yield every figure of each cell in every setting."""
        tables = [(cell, settings_table(worth)) for cell, worth in self._cells()]
        if not tables:
            return
        first = tables[0][1]
        rows: list[Row] = [
            {**dict(zip(_CELL, cell, strict=True)), **row}
            for cell, table in tables
            for row in table.rows
        ]
        columns = (*(Column(name, name.capitalize()) for name in _CELL), *first.columns)
        yield replace(first, name="worth", columns=columns, rows=tuple(rows))

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield what was assumed."""
        for cell, worth in self._cells():
            for remark in worth.remarks:
                yield _label(cell), remark

    def metrics(self) -> Mapping[str, Any]:
        """Return what all stages together change, by cell and figure."""
        return {
            "worth": {
                "_".join(cell): {
                    each.name: change_of(each, worth.before.figure(each.name).value)
                    for each in worth.after.figures
                }
                for cell, worth in self._cells()
            }
        }

    def _cells(self) -> Iterator[tuple[tuple[str, str, str], Worth]]:
        yield from self.results.items()


def _label(cell: tuple[str, str, str]) -> str:
    cluster, trace, policy = cell
    return f"{trace} on {cluster}, {policy}"
