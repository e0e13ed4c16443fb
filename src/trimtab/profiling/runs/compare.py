"""Whether two runs of a program gave the same output, and where they first differ."""

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Comparison, Output
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.profiling.runs.program import Program

_CHUNK_BYTES = 1 << 20
_SHOWN_CHARACTERS = 80
_ABSENT = "(nothing)"

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Difference:
    """The first place where two outputs differ, and what each has there."""

    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where}: {self.before} before, {self.after} after"


def output_digest(program: Program, stdout_path: Path) -> str:
    """Return the SHA-256, in hexadecimal, of what is compared of a program's last run.

    Raises UserError when the program has not written the file it should.
    """
    path = program.output_file or stdout_path
    if not path.is_file():
        raise UserError(f"output.path: {path}: the run did not write this file")
    return sha256_of(path)


def compare_outputs(before: Path, after: Path, comparison: Output) -> Difference | None:
    """Return the first difference between two outputs, or None when they count as equal.

    `numeric_file` compares number by number, with math.isclose's meaning of the tolerances, and
    everything else in the file exactly. It reads JSON (nested), JSON lines, CSV, and numbers
    between blanks. Two NaN are equal.

    Raises UserError when a numeric file is not text.
    """
    if comparison.compare != Comparison.NUMERIC_FILE:
        return _different_bytes(before, after)
    relative, absolute = comparison.relative_tolerance, comparison.absolute_tolerance
    for (where, old), (other, new) in zip_longest(
        _values(before), _values(after), fillvalue=("", _ABSENT)
    ):
        if where != other:  # one output has a place that the other has not
            both = where and other
            return Difference(
                where or other, _shown(old), f"{_shown(new)} at {other}" if both else _shown(new)
            )
        if not _close(old, new, relative, absolute):
            return Difference(where, _shown(old), _shown(new))
    return None


def _close(old: Scalar, new: Scalar, relative: float, absolute: float) -> bool:
    if type(old) is bool or type(new) is bool or old is None or new is None:
        return old is new
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    if old == new or (math.isnan(old) and math.isnan(new)):
        return True
    try:
        return math.isclose(old, new, rel_tol=relative, abs_tol=absolute)
    except OverflowError:  # a whole number beyond any float: exact or not at all
        return False


def _values(path: Path) -> Iterator[tuple[str, Scalar]]:
    """Yield every scalar of a file with the place it stands at."""
    try:
        text = path.read_text()
    except UnicodeDecodeError as error:
        raise UserError(
            f"output.compare: numeric_file, but {path} is not text ({error}); use digest_file"
        ) from None
    try:
        yield from _flatten(json.loads(text), "")
        return
    except ValueError:
        pass
    for number, line in enumerate(text.splitlines(), start=1):
        yield from _line_values(line, f"line {number}")


def _line_values(line: str, where: str) -> Iterator[tuple[str, Scalar]]:
    if line.lstrip().startswith(("{", "[")):
        try:
            yield from _flatten(json.loads(line), where)
            return
        except ValueError:
            pass
    try:
        cells = next(csv.reader([line])) if "," in line else line.split()
    except csv.Error:
        cells = line.split(",")
    for column, cell in enumerate(cells, start=1):
        yield f"{where}, column {column}", _number(cell.strip())


def _number(cell: str) -> Scalar:
    if re.fullmatch(r"[+-]?[0-9]{1,400}", cell):
        return int(cell)
    try:
        return float(cell)
    except ValueError:
        return cell


def _flatten(document: Any, where: str) -> Iterator[tuple[str, Scalar]]:
    if isinstance(document, dict):
        yield f"{where} keys".strip(), ", ".join(sorted(document))
        for key in sorted(document):
            yield from _flatten(document[key], f"{where}.{key}" if where else key)
    elif isinstance(document, list):
        yield f"{where} length".strip(), str(len(document))
        for index, item in enumerate(document):
            yield from _flatten(item, f"{where}[{index}]")
    else:
        yield where or "the value", document


def _different_bytes(before: Path, after: Path) -> Difference | None:
    offset, line = 0, 1
    with before.open("rb") as old_file, after.open("rb") as new_file:
        while True:
            old, new = old_file.read(_CHUNK_BYTES), new_file.read(_CHUNK_BYTES)
            if old == new:
                if not old:
                    return None
                offset, line = offset + len(old), line + old.count(b"\n")
                continue
            pairs = zip_longest(old, new)
            at = next(index for index, (left, right) in enumerate(pairs) if left != right)
            line += old[:at].count(b"\n")
            start = max(old.rfind(b"\n", 0, at) + 1, at - _SHOWN_CHARACTERS // 2)
            where = f"line {line} (byte {offset + at})"
            return Difference(where, _excerpt(old, start), _excerpt(new, start))


def _excerpt(data: bytes, start: int) -> str:
    line = data[start : start + _SHOWN_CHARACTERS].split(b"\n")[0]
    return repr(line.decode(errors="backslashreplace")) if start < len(data) else _ABSENT


def _shown(value: Scalar) -> str:
    text = value if value == _ABSENT else repr(value)
    assert isinstance(text, str)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
