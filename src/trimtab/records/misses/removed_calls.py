"""The removed functions that were called, from `fallback.jsonl`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.misses.record_lines import Address, CallLine, lines_of_record
from trimtab.records.values import AboveZero, PathInside, Text, Whole


@dataclass(frozen=True, config=PART)
class RemovedCall:
    """A removed function that was called: its library's path in the environment, its address there.

    `name` is mangled, "" if the original has no name; `processes` is the number of processes that
    called it. Without a name, `behind` is the last named function before it, or the section of
    data, and `behind_bytes` the distance; "" if neither is known.
    """

    library: PathInside
    address: Address
    name: Text
    processes: AboveZero
    behind: Text = ""
    behind_bytes: Whole = 0

    def __str__(self) -> str:
        """The call in words."""
        where = f"behind {self.behind} (+{self.behind_bytes:#x})" if self.behind else ""
        return f"{self.library}: {self.name or where or hex(self.address)}"


def read_removed_calls(path: Path) -> list[RemovedCall]:
    """Return the removed functions in the record at `path`, in order of the first call.

    A new profile has to include them. Lines of the behaviour `report` hold only a number and are
    ignored. Raises as `lines_of_record` does; without a record there are none.
    """
    processes: dict[tuple[str, int, str], set[int]] = {}
    for line in lines_of_record(path):
        if isinstance(line, CallLine):
            key = (line.library, line.address, line.function)
            processes.setdefault(key, set()).add(line.pid)
    return [RemovedCall(*key, len(pids)) for key, pids in processes.items()]


def united(calls: Iterable[RemovedCall]) -> list[RemovedCall]:
    """Return each function of several records once, with the processes of all."""
    united: dict[tuple[str, int], RemovedCall] = {}
    for call in calls:
        before = united.get((call.library, call.address))
        processes = call.processes + (before.processes if before else 0)
        united[call.library, call.address] = replace(before or call, processes=processes)
    return list(united.values())
