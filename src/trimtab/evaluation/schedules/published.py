"""Which published rows a report of schedules has beside its own."""

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.published import Entry, published
from trimtab.evaluation.report.tables import Row, published_row

# Chapters of Rocha's thesis: HEATS chooses among nodes that differ, DiAS among priorities.
_HEATS, _DIAS = "3", "4"


def published_of(name: str, schedules: Schedules) -> list[Row]:
    """Return the rows of `published/{name}.yaml` from the chapters that `schedules` bear on.

    Chapter 3 where a cluster has nodes of several types, chapter 4 where jobs differ in priority.
    """
    chapters = _chapters(schedules)
    return [published_row(entry) for entry in published(name) if _chapter(entry) in chapters]


def _chapters(schedules: Schedules) -> set[str]:
    found = set()
    for cell in schedules.cells:
        if cell.nodes["hardware"].nunique() > 1:
            found.add(_HEATS)
        if len({numbers.priority for numbers in cell.classes.values()}) > 1:
            found.add(_DIAS)
    return found


def _chapter(entry: Entry) -> str:
    return entry.place.split()[1].partition(".")[0]
