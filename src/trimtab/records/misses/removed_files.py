"""Lines of `fallback.jsonl` for missed files."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.misses.record_lines import FileKind, FileLine, lines_of_record
from trimtab.records.values import AboveZero, PathInside


@dataclass(frozen=True, config=PART)
class MissedFile:
    """A missed file, link or folder: its path in the environment.

    `processes` is the number of processes that asked for it.
    """

    path: PathInside
    kind: FileKind
    processes: AboveZero


def read_missed_files(path: Path) -> list[MissedFile]:
    """Return the removed files in the record at `path`, in order of the first miss.

    Raises as `read_removed_calls` does; without a record there are none.
    """
    processes: dict[tuple[str, str], set[int]] = {}
    for line in lines_of_record(path):
        if isinstance(line, FileLine):
            processes.setdefault((line.file, line.kind), set()).add(line.pid)
    return [MissedFile(*key, len(pids)) for key, pids in processes.items()]
