"""`fallback.jsonl`: the removed functions that were called, as the fallback library writes them."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.files import parse_json
from trimtab.records.document import PART, first_mistake
from trimtab.records.values import AboveZero, Amount, PathInside, Text, Whole
from trimtab.untrusted import lines_of_untrusted

# A program that calls every function that was removed of PyTorch leaves 300,000 lines of 60 MB.
_MOST_BYTES, _MOST_LINES = 1 << 28, 1_000_000
_MOST_BYTES_OF_A_LINE = 1 << 14  # the fallback writes up to 12 KiB
_BYTE = re.compile(r"[\udc80-\udcff]")
Address = Annotated[int, Field(ge=0, lt=1 << 32)]  # as wide as in the fallback's sidecars


@dataclass(frozen=True, config=PART)
class RemovedCall:
    """A removed function that was called: its library's path in the environment, its address there.

    `name` is mangled, and empty where the original names none; `processes` called it first in
    theirs.
    """

    library: PathInside
    address: Address
    name: Text
    processes: AboveZero


@dataclass(frozen=True, config=PART)
class _Call:
    """A line of the behaviours `strict` and `restore`; `time_s` is since 1970."""

    pid: AboveZero
    time_s: Amount
    library: PathInside
    address: Address
    function: Text


@dataclass(frozen=True, config=PART)
class _Count:
    """A line of the behaviour `report`: how many functions a process called."""

    pid: AboveZero
    time_s: Amount
    functions: Whole


_CALL: TypeAdapter[_Call | _Count] = TypeAdapter(_Call)
_COUNT: TypeAdapter[_Call | _Count] = TypeAdapter(_Count)


def read_removed_calls(path: Path) -> list[RemovedCall]:
    """Return the removed functions that the record in `path` names, the first called first.

    They are what a new profile has to include; without a record there are none. Lines of the
    behaviour `report` hold only a number and add nothing. Raises UserError for a line that the
    fallback did not write; a last line that is not whole is of a process that was killed while it
    wrote it. Raises UserError, too, for what is no regular file, and above 256 MiB or a million
    lines: whoever runs the environment may have written it.
    """
    processes: dict[tuple[str, int, str], set[int]] = {}
    with suppress(FileNotFoundError):
        for number, text in enumerate(lines_of_untrusted(path, _MOST_BYTES, _MOST_LINES), 1):
            try:
                line = _line_of(text)
            except ValueError as error:
                why = first_mistake(error) if isinstance(error, ValidationError) else error
                raise UserError(
                    f"{path}: line {number} is no record of a removed function: {why}; give a"
                    " fallback.jsonl as the fallback wrote it"
                ) from None
            if isinstance(line, _Call):
                key = (line.library, line.address, line.function)
                processes.setdefault(key, set()).add(line.pid)
    return [RemovedCall(*key, len(pids)) for key, pids in processes.items()]


def _line_of(line: bytes) -> _Call | _Count:
    if len(line) > _MOST_BYTES_OF_A_LINE:
        raise ValueError(f"longer than {_MOST_BYTES_OF_A_LINE} bytes")
    # Names are bytes: those that are no UTF-8 as documents have them.
    text = _BYTE.sub(
        lambda found: f"\\\\x{ord(found[0]) - 0xDC00:02x}", line.decode(errors="surrogateescape")
    )
    document = parse_json(text)
    kind = _COUNT if isinstance(document, dict) and "functions" in document else _CALL
    return kind.validate_json(text, strict=True)


def united(calls: Iterable[RemovedCall]) -> list[RemovedCall]:
    """Return each function of several records once, with the processes of all."""
    united: dict[tuple[str, int], RemovedCall] = {}
    for call in calls:
        before = united.get((call.library, call.address))
        processes = call.processes + (before.processes if before else 0)
        united[call.library, call.address] = replace(before or call, processes=processes)
    return list(united.values())
