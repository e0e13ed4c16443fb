"""Find a comparison of a program's output by which two runs in one environment are equal."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from pathlib import Path

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.runs.compare_outputs import compare_outputs, steady_lines, whole_numbers
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.untrusted import UntrustedFileError, read_untrusted

# Sums in another order differ by less; wrong results differ by more.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-5, 1e-8
_MANY_PATTERNS = 1000
_MOST_BYTES = 16 << 20
_SHOWN_PATTERNS = 3
_DIGITS = re.compile(r"\d+")
_TIME_OR_DATE = re.compile(r"\d+([-:/.])\d+\1\d+")
# Two runs may agree on a duration by chance.
_DURATION = re.compile(r"(?<![\w.])\d+\.\d+ ?(?:[num]?s|secs?|seconds|minutes)\b")
_PART_OF_A_WORD = re.compile(r"^\w+")  # such a part may agree by chance
_RULE = re.compile(r"([^\w\s])\1{2,}")  # drawn around text of varying length


def strongest(before: Path, after: Path, path: str | None) -> Output:
    """Return the strictest comparison by which two outputs of the same program are equal.

    `path` is the file that both were copied from, or None for standard output. In order: every
    byte; every number within a relative tolerance of 1e-5; every line that does not vary; only the
    exit code. A line with a duration counts as varying.
    """
    for output in _candidates(before, after, path):
        try:
            if compare_outputs(before, after, output) is None and _holds_on(before, after, output):
                return output
        except UserError:  # text without numbers
            continue
    return Output(OutputComparison.EXIT_CODE)


def _holds_on(before: Path, after: Path, output: Output) -> bool:
    """Whether other runs may pass too: whole numbers that differ are clocks and counters."""
    if not output.compare.is_numeric:
        return True
    one, other = (whole_numbers(path, output.compare) for path in (before, after))
    return one == other


def check_steady(program: Program, first: MeasuredRun, again: MeasuredRun) -> None:
    """Raise UserError if two runs of `program` in the same environment gave different output.

    The message names the comparison by which they agree.
    """
    if not first.output or not again.output:
        return
    difference = compare_outputs(first.output, again.output, program.output)
    if difference is None:
        return
    agreed = strongest(first.output, again.output, program.output.path)
    raise UserError(
        f"{' '.join(program.command)}: its output differs from run to run in the original"
        f" environment, {difference}; fix its seed, or compare what two runs agreed on, with"
        f" output.compare: {agreed.compare}. {remark_on(first.output, agreed)}"
    )


def remark_on(before: Path, output: Output) -> str:
    """Return a line that says how `output` compares, for users who did not choose it."""
    what = "standard output" if output.path is None else output.path
    if output.compare.is_numeric:
        return (
            f"{what} differs from run to run in its numbers: they are compared within"
            f" {output.relative_tolerance:g} of their value ({output.compare})"
        )
    if output.compare == OutputComparison.LINES:
        total, left = len(steady_lines(before, [])), len(steady_lines(before, output.changing))
        shown = ", ".join(f"`{pattern}`" for pattern in output.changing[:_SHOWN_PATTERNS])
        more = len(output.changing) - _SHOWN_PATTERNS
        return (
            f"{what} differs from run to run, or says how long something took, in {total - left} of"
            f" {total} lines: compared without those that match {shown}"
            + (f" and {more} more" if more > 0 else "")
            + " (lines)"
        )
    if output.compare == OutputComparison.EXIT_CODE:
        return (
            "the output differs from run to run all over: nothing but the exit code is compared"
            " (exit_code); a file with --output, or a command of yours with --compare-command,"
            " would be more"
        )
    return f"every byte of {what} is compared ({output.compare})"


def _candidates(before: Path, after: Path, path: str | None) -> Iterator[Output]:
    bytes_, numbers = (
        (OutputComparison.DIGEST_STDOUT, OutputComparison.NUMERIC_STDOUT)
        if path is None
        else (OutputComparison.DIGEST_FILE, OutputComparison.NUMERIC_FILE)
    )
    is_text = _is_text(before) and _is_text(after)
    clocks = _clocks(before) if is_text else []
    if not clocks:
        yield Output(bytes_, path)
        yield Output(numbers, path, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE)
    if is_text:
        changing = list(dict.fromkeys([*changing_lines(before, after), *clocks]))
        if steady_lines(before, changing):
            yield Output(OutputComparison.LINES, path, changing=changing)


def _clocks(output: Path) -> list[str]:
    """Return expressions for the lines with a duration, such as pytest's last line."""
    lines = [line for _, line in steady_lines(output, []) if _DURATION.search(line)]
    if len(lines) > _MANY_PATTERNS:
        return []
    return [_clock(line) for line in lines]


def _clock(line: str) -> str:
    """Return an expression for a line with any durations."""
    words = line.split()
    parts = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        found = _DURATION.search(f"{word} {after}")
        is_time = found is not None and found.start() < len(word)
        parts.append(_word(word, word, keep_numbers=not is_time))
    return r"^\s*" + r"\s+".join(parts) + r"\s*$"


def _is_text(output: Path) -> bool:
    """Whether it is text, and short enough to match its lines in a few seconds."""
    try:
        return "\0" not in read_untrusted(output, _MOST_BYTES).decode()
    except (UnicodeDecodeError, UntrustedFileError):
        return False


def changing_lines(before: Path, after: Path) -> list[str]:
    """Return regular expressions that match the lines in which two outputs differ, and few others.

    If only some words of a line differ, the other words stay in the expression: another result
    beside a varying time is still found.
    """
    old, new = ([line for _, line in steady_lines(path, [])] for path in (before, after))
    # Lines that differ only in digits count as the same line.
    masked = [[_DIGITS.sub("0", line) for line in lines] for lines in (old, new)]
    pairs: list[tuple[str | None, str | None]] = []
    for _, i, old_end, j, new_end in SequenceMatcher(a=masked[0], b=masked[1]).get_opcodes():
        pairs += zip_longest(old[i:old_end], new[j:new_end])
    different = [pair for pair in pairs if pair[0] != pair[1]]
    for keep_numbers in (True, False):
        patterns = [each for pair in different for each in _patterns(*pair, keep_numbers)]
        patterns = list(dict.fromkeys(patterns))
        if len(patterns) <= _MANY_PATTERNS:
            return patterns
    return []


def _patterns(left: str | None, right: str | None, keep_numbers: bool) -> Iterator[str]:
    """Yield expressions for a line as two runs wrote it; one of them may lack it."""
    words, others = (None if line is None else line.split() for line in (left, right))
    if words is None or others is None or len(words) != len(others):
        for alone in (words, others):
            if alone is not None:
                yield _line(alone, alone, keep_numbers)
    else:
        yield _line(words, others, keep_numbers)


def _line(words: list[str], others: list[str], keep_numbers: bool) -> str:
    parts = (_word(*pair, keep_numbers) for pair in zip(words, others, strict=True))
    return r"^\s*" + r"\s+".join(parts) + r"\s*$"


def _word(word: str, other: str, keep_numbers: bool) -> str:
    if _RULE.fullmatch(word):
        return re.escape(word[0]) + "+"
    if _DIGITS.sub("0", word) != _DIGITS.sub("0", other):
        start = _PART_OF_A_WORD.sub("", _common_start(word, other)[::-1])[::-1]
        rests = (text[len(start) :][::-1] for text in (word, other))
        end = _PART_OF_A_WORD.sub("", _common_start(*rests)[::-1])
        return re.escape(start) + r"\S*" + re.escape(end)
    if word == other and keep_numbers and not _TIME_OR_DATE.search(word):
        return re.escape(word)
    return _DIGITS.sub(r"\\d+", re.escape(word))


def _common_start(one: str, other: str) -> str:
    pairs = zip(one, other, strict=False)
    return "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
