"""The page of a queue under several policies."""

from pathlib import Path

from trimtab.evaluation.queue.charts import charts_of
from trimtab.evaluation.queue.results import read_results
from trimtab.evaluation.queue.tables import tables_of
from trimtab.evaluation.report.own_page import write_own_page


def write_queue_report(folder: Path) -> Path:
    """Write `report.html` from the files of `trimtab schedule simulate`, and return its path.

    Its tables and figures are also written to `tables` and `figures`. Raises as documents and
    tables do when read.
    """
    results = read_results(folder)
    tables, figures = list(tables_of(results)), list(charts_of(results))
    blocks = [tables[0], *figures, *tables[1:]]
    return write_own_page(
        folder, "queue.html.j2", tables, figures, queue=results.document, blocks=blocks
    )
