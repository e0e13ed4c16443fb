"""Lines of `fallback.jsonl` for removed files that were asked for, as the fallback writes them."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.misses.record_lines import FileKind, FileLine, lines_of_record
from trimtab.records.values import AboveZero, PathInside


@dataclass(frozen=True, config=PART)
class MissedFile:
    """A removed file, link or folder that was asked for: its path in the environment.

    `processes` asked for it first in theirs.
    """

    path: PathInside
    kind: FileKind
    processes: AboveZero


def read_missed_files(path: Path) -> list[MissedFile]:
    """Return the removed files that the record in `path` names, the first asked for first.

    Raises as `read_removed_calls` does; without a record there are none.
    """
    processes: dict[tuple[str, str], set[int]] = {}
    for line in lines_of_record(path):
        if isinstance(line, FileLine):
            processes.setdefault((line.file, line.kind), set()).add(line.pid)
    return [MissedFile(*key, len(pids)) for key, pids in processes.items()]
