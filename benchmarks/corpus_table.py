"""The tables of benchmarks/README.md on the CPU corpus: the bars, and a line an environment."""

import csv
import math
import statistics
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "results"
HEAD = (
    "environment",
    "programs",
    "before",
    "smaller",
    "libraries smaller",
    "held-out inputs; tests",
    "put back there",
    "wall time",
    "peak memory",
)

PAIRS = 20  # of each program that the bar on time is about
START = "python_start"  # the program that does nothing
SHORT_S = 3.0  # a program that takes no longer has to have its slim environment soon

CsvRow = dict[str, str]


def lines() -> list[str]:
    """Return the bars, the table and the programs that failed."""
    rows, others = _read("corpus.csv"), _read("corpus_others.csv")
    measured = [row for row in rows if _of(row, "runs")]
    machines = sorted({f"{row['machine']}, {row['date']}" for row in measured})
    return [
        *(f"Measured on {machine}." for machine in machines),
        "",
        "| what | bar | measured | |",
        "|---|---|---|---|",
        *(f"| {' | '.join(bar)} |" for bar in bars(measured, others)),
        "",
        f"| {' | '.join(HEAD)} |",
        "|---" * len(HEAD) + "|",
        *(
            _line([row for row in measured if row["environment"] == name])
            for name in sorted({row["environment"] for row in measured})
        ),
        *(
            f"\n`{row['program']}` ({row['environment']}): {row['differing']}"
            for row in rows
            if row["differing"]
        ),
    ]


def bars(rows: list[CsvRow], others: list[CsvRow]) -> list[tuple[str, str, str, str]]:
    """Return what, bar, measured and verdict of what the corpus has to reach."""
    runs, equal = _sum(rows, "runs"), _sum(rows, "runs_equal")
    inputs, inputs_equal = _sum(rows, "held_out_runs"), _sum(rows, "held_out_equal")
    tests, tests_equal = _sum(rows, "tests"), _sum(rows, "tests_equal")
    strict, clean = _sum(rows, "strict_runs"), _sum(rows, "strict_runs_clean")
    estimated = [row for row in rows if row.get("risk_bound")]
    held = sum(_observed(row) <= float(row["risk_bound"]) for row in estimated)
    # One that was found is of CUDA, and the start of Python no program of anybody's.
    made = [
        row for row in rows
        if not row.get("environment", "").startswith("found") and row["program"] != START
    ]  # fmt: skip
    fewest = min((_of(row, "runs") for row in rows), default=0)
    found = [
        (
            "whole environment of a CPU, on disk",
            "at least 90 % smaller in the median of at least 20 programs",
            f"{_range_of(_less(made, 'environment'))} in {len(made)} programs",
            len(made) >= 20 and statistics.median(_less(made, "environment")) >= 0.9,
        ),
        (
            "traced input as delivered, on other numbers of CPUs and threads",
            "all equal to the original",
            f"{equal:,} of {runs:,}, at least {fewest} of each program;"
            f" {_sum(rows, 'runs_without_miss'):,} asked for nothing removed",
            equal == runs > 0,
        ),
        (
            "held-out test modules and inputs, as delivered",
            "same outcome in every one of at least 15,000 tests",
            f"{tests_equal:,} of {tests:,} tests; {inputs_equal} of {inputs} inputs",
            tests_equal == tests >= 15_000 and inputs_equal == inputs,
        ),
        (
            "traced input, strict, after `debloat` alone",
            "at least 99 % of runs without a removed call",
            f"{clean:,} of {strict:,}: {_percent(clean, strict)}",
            clean >= 0.99 * strict,
        ),
        (
            "share of runs that missed something, against the bound that `debloat` gave",
            "at most the bound for at least 90 % of the programs",
            f"{held} of {len(estimated)}; bound {_mean(estimated, 'risk_bound')} in the mean,"
            f" estimate {_mean(estimated, 'risk_estimate')}, observed"
            f" {statistics.fmean([_observed(row) for row in estimated] or [0]):.1%}",
            held >= 0.9 * len(estimated) > 0,
        ),
        _untraced(others),
        _cost(rows),
        _start(rows),
        _calls(rows),
        _making(rows),
        (
            "libraries that were loaded, on disk",
            "at least 60 % smaller",
            f"{_range_of(_less(rows, 'libraries'))} in {len(rows)} programs",
            statistics.median(_less(rows, "libraries")) >= 0.6,
        ),
    ]
    return [(*row, "met" if met else "**missed**") for *row, met in found]


def _untraced(others: list[CsvRow]) -> tuple[str, str, str, bool]:
    """Other programs: medians of each are added up, and once more by the number of the turn."""
    originals, slims = (
        [[float(word) for word in row[key].split()] for row in others]
        for key in ("original_s", "slim_s")
    )
    ratio = _ratio(map(statistics.median, slims), map(statistics.median, originals))
    turns = min(map(len, originals), default=0)
    spread = [
        _ratio((each[turn] for each in slims), (each[turn] for each in originals))
        for turn in range(turns)
    ]
    runs, equal = _sum(others, "runs"), _sum(others, "equal")
    programs = len({row["program"] for row in others})
    return (
        "other programs of the environment, never traced, as delivered, in turns with the original",
        "at least 20 programs, all as in the original, at most 5 % slower in all",
        f"{programs} programs in {len(others)} slim environments, {equal:,} of {runs:,} runs;"
        f" {ratio:.2f}x ({min(spread, default=1):.2f} to {max(spread, default=1):.2f}) the time",
        programs >= 20 and equal == runs and ratio <= 1.05,
    )


def _cost(rows: list[CsvRow]) -> tuple[str, str, str, bool]:
    """A ratio of each program, which is the median of its pairs; then the middle of these."""
    paired = [row for row in rows if _of(row, "pairs") >= PAIRS and row["program"] != START]
    words, middles = [], []
    for what, name in (("s", "wall time"), ("cpu_s", "CPU time"), ("peak_rss_bytes", "memory")):
        ratios = [found for row in paired if (found := ratio_of(row, what))]
        if len(ratios) > 1:
            first, middle, third = statistics.quantiles(ratios, n=4)
            words.append(f"{name} {middle:.2f}x ({first:.2f} to {third:.2f})")
            middles.append(middle)
    return (
        f"time and peak memory of the traced input when nothing is missed, {PAIRS} pairs in turns",
        "at most 1.02x in the median of at least 8 programs",
        f"{len(paired)} programs: {', '.join(words)}",
        len(paired) >= 8 and len(middles) == 3 and max(middles) <= 1.02,
    )


def _start(rows: list[CsvRow]) -> tuple[str, str, str, bool]:
    starts = [row for row in rows if row["program"] == START]
    ratios = [ratio_of(row, what) or math.inf for row in starts for what in ("s", "cpu_s")]
    words = [
        f"wall time {_times(row, 's', 'wall_ratio')}, CPU time {_times(row, 'cpu_s', 'cpu_ratio')}"
        for row in starts
    ]
    return (
        "a start of Python, likewise",
        "at most 1.00x",
        "; ".join(words) or "not measured",
        0 < max(ratios, default=0) <= 1,
    )


def _calls(rows: list[CsvRow]) -> tuple[str, str, str, bool]:
    ratios = [found for row in rows if (found := ratio_of(row, "calls"))]
    return (
        "system calls of the traced input when nothing is missed",
        "at most 1.05x",
        f"{len(ratios)} programs: {statistics.median(ratios or [0]):.2f}x in the median, at most"
        f" {max(ratios, default=0):.2f}x",
        0 < max(ratios, default=0) <= 1.05,
    )


def _making(rows: list[CsvRow]) -> tuple[str, str, str, bool]:
    short = [
        row for row in rows
        if _of(row, "debloat_runs") and 0 < float(row["original_s"] or 0) <= SHORT_S
    ]  # fmt: skip
    made_s = [float(row["debloat_s"]) for row in short] or [0.0]
    usable_s = [float(row["usable_s"]) for row in short if row.get("usable_s")] or [0.0]
    runs = [_of(row, "debloat_runs") for row in short] or [0]
    return (
        f"command to slim environment, programs of at most {SHORT_S:.0f} s",
        "at most 60 s and 12 runs of the program",
        f"{len(short)} programs: {statistics.median(made_s):.0f} s in the median, at most"
        f" {max(made_s):.0f} s and {max(runs)} runs; usable after"
        f" {statistics.median(usable_s):.0f} s in the median",
        bool(short) and max(made_s) <= 60 and max(runs) <= 12,
    )


def ratio_of(row: CsvRow, what: str) -> float | None:
    """Return slim by original: the median of the pairs where the row has it, else of the medians.

    Returns None for a row of before this was measured.
    """
    paired = row.get({"s": "wall_ratio", "cpu_s": "cpu_ratio"}.get(what, ""))
    if paired:
        return float(paired)
    slim, original = row.get(f"slim_{what}"), row.get(f"original_{what}")
    return float(slim) / float(original) if slim and original else None


def _less(rows: list[CsvRow], what: str) -> list[float]:
    found = ((_of(row, f"{what}_before_bytes"), _of(row, f"{what}_after_bytes")) for row in rows)
    return [1 - after / before for before, after in found if before]


def _range_of(shares: list[float]) -> str:
    return f"{statistics.median(shares):.1%} in the median ({min(shares):.0%} to {max(shares):.0%})"


def _line(rows: list[CsvRow]) -> str:
    """Return an environment's line: medians and ranges of its programs."""
    held_out = f"{_sum(rows, 'held_out_equal')} of {_sum(rows, 'held_out_runs')}"
    if tests := _sum(rows, "tests"):
        held_out += f"; {_sum(rows, 'tests_equal'):,} of {tests:,}"
    cells = (
        rows[0]["environment"],
        str(len(rows)),
        f"{_of(rows[0], 'environment_before_bytes') / 1e6:,.0f} MB",
        _spread(_less(rows, "environment"), "{:.1%}"),
        _spread(_less(rows, "libraries"), "{:.0%}"),
        held_out,
        f"{_sum(rows, 'held_out_missed'):,}",
        *(
            _spread([found for row in rows if (found := ratio_of(row, what))], "{:.2f}x")
            for what in ("s", "peak_rss_bytes")
        ),
    )
    return f"| {' | '.join(cells)} |"


def _spread(figures: list[float], form: str) -> str:
    """Return the median, and the range where there are several."""
    if not figures:
        return ""
    ends = f" ({form.format(min(figures))} to {form.format(max(figures))})"
    return form.format(statistics.median(figures)) + (ends if len(figures) > 1 else "")


def _times(row: CsvRow, what: str, quartiles: str = "") -> str:
    """How many times the original's, with the quartiles of the pairs where the row has them."""
    ratio = ratio_of(row, what)
    if ratio is None:
        return ""
    if not row.get(f"{quartiles}_low"):
        return f"{ratio:.2f}x"
    low, high = (float(row[f"{quartiles}_{end}"]) for end in ("low", "high"))
    return f"{ratio:.2f}x ({low:.2f} to {high:.2f})"


def _observed(row: CsvRow) -> float:
    """The share of the runs that came after `debloat` that asked for something removed."""
    runs = _of(row, "runs") + _of(row, "strict_runs")
    return 1 - (_of(row, "runs_without_miss") + _of(row, "strict_runs_clean")) / runs


def _read(name: str) -> list[CsvRow]:
    with open(FOLDER / name, newline="") as file:
        return list(csv.DictReader(file))


def _of(row: CsvRow, column: str) -> int:
    return int(row.get(column) or 0)


def _sum(rows: Iterable[CsvRow], column: str) -> int:
    return sum(_of(row, column) for row in rows)


def _mean(rows: list[CsvRow], column: str) -> str:
    return f"{statistics.fmean([float(row[column] or 0) for row in rows] or [0]):.1%}"


def _percent(part: float, whole: float, digits: int = 1) -> str:
    return f"{part / whole if whole else 0:.{digits}%}"


def _ratio(slim: Iterable[float], original: Iterable[float]) -> float:
    return sum(slim) / (sum(original) or 1.0)
