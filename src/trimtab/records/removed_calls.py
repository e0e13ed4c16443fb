"""`fallback.jsonl`: the removed functions that were called, as the fallback library writes them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.records.document import PART


@dataclass(frozen=True, config=PART)
class RemovedCall:
    """A removed function that was called: its library's path in the environment, its address there.

    `name` is mangled, and empty where the original names none; `processes` called it first in
    theirs.
    """

    library: str
    address: int
    name: str
    processes: int


@dataclass(frozen=True, config=PART)
class _Call:
    """A line of the behaviours `strict` and `restore`; `time_s` is since 1970."""

    pid: int
    time_s: float
    library: str
    address: int
    function: str


@dataclass(frozen=True, config=PART)
class _Count:
    """A line of the behaviour `report`: how many functions a process called."""

    pid: int
    time_s: float
    functions: int


_LINE: TypeAdapter[_Call | _Count] = TypeAdapter(_Call | _Count)


def read_removed_calls(path: Path) -> list[RemovedCall]:
    """Return the removed functions that the record in `path` names, the first called first.

    They are what a new profile has to include; without a record there are none. Lines of the
    behaviour `report` hold only a number and add nothing. Raises UserError for a line that the
    fallback did not write; a last line that is not whole is of a process that was killed while it
    wrote it.
    """
    if not path.exists():
        return []
    processes: dict[tuple[str, int, str], set[int]] = {}
    for number, text in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            line = _LINE.validate_json(text, strict=True)
        except ValidationError:
            raise UserError(f"{path}: line {number} is no record of a removed function") from None
        if isinstance(line, _Call):
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
