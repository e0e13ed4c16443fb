"""Compare the output of two runs, and find the first difference."""

import csv
import hashlib
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.errors import UserError
from trimtab.files import atomic_write
from trimtab.processes.as_user import User, open_written
from trimtab.untrusted import UntrustedFileError, open_untrusted, read_untrusted

_CHUNK_BYTES = 1 << 20
# Output of any size is possible. Comparing text takes several times its size in memory.
MOST_OUTPUT_BYTES = 16 << 30
_MOST_TEXT_BYTES = 64 << 20
_MOST_LINES = 1_000_000
_SHOWN_CHARACTERS = 80
_ABSENT = "(nothing)"
_LAST_CHARACTERS = 500
# A number inside a word, as in `loss=0.25,`. Whole numbers there may be names, and stay text.
_FRACTION = re.compile(r"(?<![\w.])([-+]?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?)")

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class OutputDifference:
    """The first difference of two outputs, with the text of each."""

    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where}: {self.before} before, {self.after} after"


def output_digest(output: Path) -> str:
    """Return the SHA-256, in hexadecimal, of a run's compared output.

    Raises UserError if the program has not written the file, or above 16 GiB.
    """
    try:
        with open_untrusted(output, MOST_OUTPUT_BYTES) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise UserError(f"output.path: {output}: the run did not write this file") from None


def save_output(output: Path, copy: Path, user: User | None = None) -> Path:
    """Copy a run's output file, written as `user`, to `copy` and return that.

    A link is followed, as programs link their latest result. Raises UserError if there is none, or
    if it is no regular file of at most 16 GiB.
    """
    try:
        with (
            open_written(output, MOST_OUTPUT_BYTES, user) as file,
            atomic_write(copy) as temporary,
            temporary.open("wb") as target,
        ):
            shutil.copyfileobj(file, target, _CHUNK_BYTES)
    except FileNotFoundError:
        raise UserError(f"output.path: {output}: the run did not write this file") from None
    except UntrustedFileError as error:
        raise UserError(f"output.path: {error}") from None
    return copy


def compare_outputs(before: Path, after: Path, comparison: Output) -> OutputDifference | None:
    """Return the first difference between two outputs, or None if they count as equal.

    `numeric_*` compares numbers with the tolerances of math.isclose, and everything else exactly.
    It reads JSON (nested), JSON lines, CSV, and numbers between blanks. Two NaN are equal.

    Raises UserError if numeric output is not text, if a command cannot be run, and for text longer
    than 64 MiB or a million lines.
    """
    match comparison.compare:
        case OutputComparison.EXIT_CODE:
            return None
        case OutputComparison.COMMAND:
            return _judged(comparison.command, before, after)
        case OutputComparison.LINES:
            return _different_lines(before, after, comparison.changing)
        case OutputComparison.NUMERIC_FILE | OutputComparison.NUMERIC_STDOUT:
            return _different_numbers(before, after, comparison)
    return _different_bytes(before, after)


def whole_numbers(output: Path, comparison: OutputComparison) -> list[int]:
    """Return the whole numbers that `numeric_*` reads in a file, in their order."""
    return [value for _, value in _values(output, comparison) if type(value) is int]


def steady_lines(output: Path, changing: Sequence[str]) -> list[tuple[int, str]]:
    """Return the lines of a file, with their numbers, that match no pattern of `changing`."""
    pattern = re.compile("|".join(f"(?:{each})" for each in changing)) if changing else None
    lines = _text_of(output, errors="backslashreplace").splitlines()
    if len(lines) > _MOST_LINES:
        raise UserError(
            f"output.compare: lines, but {output} has {len(lines)} lines, expected at most"
            f" {_MOST_LINES}"
        )
    return [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if not (pattern and pattern.search(line))
    ]


def _text_of(path: Path, errors: str = "strict") -> str:
    return read_untrusted(path, _MOST_TEXT_BYTES).decode(errors=errors)


def _different_lines(before: Path, after: Path, changing: Sequence[str]) -> OutputDifference | None:
    pairs = zip_longest(
        steady_lines(before, changing), steady_lines(after, changing), fillvalue=(0, _ABSENT)
    )
    for (number, old), (other, new) in pairs:
        if old != new:
            return OutputDifference(f"line {number or other}", _shown(old), _shown(new))
    return None


def _judged(command: Sequence[str], before: Path, after: Path) -> OutputDifference | None:
    """Run a comparison command of the user's; return its last output if it says no."""
    named = {"{before}": str(before.resolve()), "{after}": str(after.resolve())}
    words = list(command)
    for placeholder, path in named.items():
        words = [word.replace(placeholder, path) for word in words]
    try:
        asked = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise UserError(f"output.command: {words[0]}: cannot be run: {error}") from None
    if asked.returncode == 0:
        return None
    said = (asked.stdout + asked.stderr).strip()[-_LAST_CHARACTERS:]
    where = f"{words[0]} ended with exit code {asked.returncode}" + (f" ({said})" if said else "")
    return OutputDifference(where, str(before), str(after))


def _different_numbers(before: Path, after: Path, comparison: Output) -> OutputDifference | None:
    relative, absolute = comparison.relative_tolerance, comparison.absolute_tolerance
    for (where, old), (other, new) in zip_longest(
        _values(before, comparison.compare),
        _values(after, comparison.compare),
        fillvalue=("", _ABSENT),
    ):
        if where != other:  # only one output has this place
            both = where and other
            return OutputDifference(
                where or other, _shown(old), f"{_shown(new)} at {other}" if both else _shown(new)
            )
        if not _close(old, new, relative, absolute):
            return OutputDifference(where, _shown(old), _shown(new))
    return None


def _close(old: Scalar, new: Scalar, relative: float, absolute: float) -> bool:
    if type(old) is bool or type(new) is bool or old is None or new is None:
        return old is new
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    if old == new or (old != old and new != new):  # only NaN differs from itself
        return True
    try:
        return math.isclose(old, new, rel_tol=relative, abs_tol=absolute)
    except OverflowError:  # a whole number beyond any float has to be equal
        return False


def _values(path: Path, comparison: OutputComparison) -> Iterator[tuple[str, Scalar]]:
    """Yield every scalar of a file with its place."""
    try:
        text = _text_of(path)
    except UnicodeDecodeError as error:
        raise UserError(
            f"output.compare: {comparison}, but {path} is not text ({error}); use"
            f" {comparison.replace('numeric', 'digest')}"
        ) from None
    try:
        yield from _flatten(json.loads(text, parse_float=_number), "")
        return
    except ValueError:
        pass
    except RecursionError:
        raise UserError(f"output.compare: {comparison}, but {path} is nested too deeply") from None
    for number, line in enumerate(text.splitlines(), start=1):
        yield from _line_values(line, f"line {number}")


def _line_values(line: str, where: str) -> Iterator[tuple[str, Scalar]]:
    if line.lstrip().startswith(("{", "[")):
        try:
            yield from _flatten(json.loads(line, parse_float=_number), where)
            return
        except (ValueError, RecursionError):
            pass
    try:
        cells = next(csv.reader([line])) if "," in line else line.split()
    except csv.Error:
        cells = line.split(",")
    for column, cell in enumerate(cells, start=1):
        value = _number(cell.strip())
        parts = _FRACTION.split(value) if isinstance(value, str) else [value]
        for part in parts:
            yield f"{where}, column {column}", _number(part) if isinstance(part, str) else part


def _number(cell: str) -> Scalar:
    if re.fullmatch(r"[+-]?[0-9]{1,400}", cell):
        return int(cell)
    try:
        value = float(cell)
    except ValueError:
        return cell
    # Digests such as 5e98765 and 7e12345 look like numbers, but overflow: all would be equal.
    return cell if math.isinf(value) and "inf" not in cell.lower() else value


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


def _different_bytes(before: Path, after: Path) -> OutputDifference | None:
    offset, line = 0, 1
    with (
        open_untrusted(before, MOST_OUTPUT_BYTES) as old_file,
        open_untrusted(after, MOST_OUTPUT_BYTES) as new_file,
    ):
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
            return OutputDifference(where, _excerpt(old, start), _excerpt(new, start))


def _excerpt(data: bytes, start: int) -> str:
    line = data[start : start + _SHOWN_CHARACTERS].split(b"\n")[0]
    return repr(line.decode(errors="backslashreplace")) if start < len(data) else _ABSENT


def _shown(value: Scalar) -> str:
    text = value if value == _ABSENT else repr(value)
    assert isinstance(text, str)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
