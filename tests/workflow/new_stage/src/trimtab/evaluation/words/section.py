"""How often words occur."""

from collections.abc import Iterator

from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import Column, Table


class Words(ReportSection):
    """A row for each word of each text."""

    stage = "words"
    order = 10_000
    chapter = Chapter("words", "The words of texts", "Words")

    def make_tables(self) -> Iterator[Table]:
        """Yield the only table."""
        columns = (
            Column("text", "Text"),
            Column("word", "Word"),
            Column("occurrences", "Occurrences", 0),
        )
        rows = tuple(self.results.to_dict("records"))
        yield Table("words", "Words", "How often each occurs.", columns, rows)
