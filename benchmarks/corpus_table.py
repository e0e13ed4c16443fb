"""The tables of benchmarks/README.md on the CPU corpus: a line a program, and the bars."""

import csv
import statistics
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "results"
HEAD = (
    "program",
    "environment",
    "libraries",
    "less",
    "traced input equal",
    "missed",
    "strict without a miss",
    "observed risk",
    "bound",
    "held-out inputs; tests",
    "put back there",
    "other programs",
    "time",
    "peak memory",
)

RUNS = 20  # of each program

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
        *(_line(row) for row in measured),
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
    before, after = _sum(rows, "libraries_before_bytes"), _sum(rows, "libraries_after_bytes")
    often = sum(_of(row, "runs") >= RUNS for row in rows)
    less = [
        1 - _of(row, "libraries_after_bytes") / _of(row, "libraries_before_bytes") for row in rows
    ]
    found = [
        (
            "traced input as delivered, on other numbers of CPUs and threads",
            f"all equal to the original, {RUNS} runs each",
            f"{equal:,} of {runs:,}; {_sum(rows, 'runs_without_miss'):,} asked for nothing removed;"
            f" {often} of {len(rows)} programs ran {RUNS} times",
            equal == runs and often == len(rows),
        ),
        (
            "held-out test modules and inputs, as delivered",
            "same outcome in every one of at least 2,000 tests",
            f"{tests_equal:,} of {tests:,} tests; {inputs_equal} of {inputs} inputs",
            tests_equal == tests >= 2000 and inputs_equal == inputs,
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
        (
            "libraries that were loaded, on disk",
            "at least 60 % smaller",
            f"{statistics.fmean(less):.1%} in the mean of the programs ({min(less):.0%} to"
            f" {max(less):.0%}); {_percent(before - after, before)} of {before / 1e6:,.0f} MB",
            statistics.fmean(less) >= 0.6,
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
    """No change is a middle half of the programs' ratios that lies around 1, or below it."""
    paired = [row for row in rows if _of(row, "pairs")]
    words, firsts = [], []
    for what, name in (("s", "time"), ("peak_rss_bytes", "memory")):
        slim, original = (
            [float(row[f"{which}_{what}"]) for row in paired] for which in ("slim", "original")
        )
        ratios = [after / before for after, before in zip(slim, original, strict=True)]
        first, middle, third = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else (1, 1, 1)
        words.append(f"{name} {middle:.2f}x ({first:.2f} to {third:.2f})")
        firsts.append(first)
    return (
        "run time and peak memory of the traced input when nothing is missed, medians in turns",
        "no change: half of the programs around 1x, or below",
        f"{len(paired)} programs: {', '.join(words)}",
        bool(paired) and max(firsts) <= 1,
    )


def _line(row: CsvRow) -> str:
    before, after = _of(row, "libraries_before_bytes"), _of(row, "libraries_after_bytes")
    held_out = f"{row['held_out_equal']} of {row['held_out_runs']}"
    if _of(row, "tests"):
        held_out += f"; {_of(row, 'tests_equal'):,} of {_of(row, 'tests'):,}"
    time = memory = ""
    if _of(row, "pairs"):
        peaks = [_of(row, f"{which}_peak_rss_bytes") / 1e6 for which in ("original", "slim")]
        time = f"{float(row['original_s']):.2f} -> {float(row['slim_s']):.2f} s"
        memory = f"{peaks[0]:,.0f} -> {peaks[1]:,.0f} MB"
    cells = (
        f"`{row['program']}`",
        row["environment"],
        f"{before / 1e6:,.0f} MB",
        _percent(before - after, before, 0),
        f"{row['runs_equal']} of {row['runs']}",
        row["missed"],
        f"{row['strict_runs_clean']} of {row['strict_runs']}",
        f"{_observed(row):.0%}",
        f"{float(row['risk_bound']):.0%}" if row.get("risk_bound") else "",
        held_out,
        row["held_out_missed"],
        f"{row['other_equal']} of {row['other_runs']}",
        time,
        memory,
    )
    return f"| {' | '.join(cells)} |"


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
