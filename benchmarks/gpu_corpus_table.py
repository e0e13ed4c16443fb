"""The table of benchmarks/README.md on programs for a GPU that run as they were not traced."""

import json
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

HEAD = (
    "program",
    "libraries",
    "less",
    "sizes not traced",
    "put back there",
    "strict",
    "run time",
)
RESULTS = Path(__file__).parent / "results/gpu_corpus.jsonl"


def lines() -> list[str]:
    """Return the table, a line a program, and the sums; of a program the last row counts."""
    written = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    rows = list({row["program"]: row for row in written}.values())
    measured = [row for row in rows if "strict" in row]
    text = [
        f"| {' | '.join(HEAD)} |",
        "|---" * len(HEAD) + "|",
        *(_line(row) for row in measured),
        "",
        _together(measured),
    ]
    for row in measured:
        if "operations" in row:
            text += ["", _untraced(row)]
    for row in measured:
        if "eager" in row:
            text += ["", _eager(row)]
    for row in rows:
        if row not in measured:
            said = row.get("error", "out of time").strip().splitlines()
            why = next((line for line in said if line.startswith("error:")), said[-1])
            text += ["", f"`{row['program']}` was not measured: {why}"]
    return text


def _line(row: dict[str, Any]) -> str:
    before, after = row["libraries_before_bytes"], row["libraries_after_bytes"]
    held_out, strict = row["held_out"], row["strict"]
    cells = (
        f"`{row['program']}`" + (f" ({row['note']})" if "note" in row else ""),
        f"{before / 1e6:,.0f} MB",
        f"{1 - after / before:.0%}",
        f"{held_out['equal']}/{held_out['of']}",
        f"{sum(held_out['misses'].values()):,}",
        f"{strict['clean']}/{strict['runs']}",
        f"{row['run_time']['ratio']:.2f}x" if "run_time" in row else "",
    )
    return f"| {' | '.join(cells)} |"


def _together(rows: list[dict[str, Any]]) -> str:
    equal, of = (sum(row["held_out"][key] for row in rows) for key in ("equal", "of"))
    clean, runs = (sum(row["strict"][key] for row in rows) for key in ("clean", "runs"))
    less = [1 - row["libraries_after_bytes"] / row["libraries_before_bytes"] for row in rows]
    ratios = [row["run_time"]["ratio"] for row in rows if "run_time" in row]
    traced_equal, traced = (
        sum(row["traced_input"][key] for row in rows) for key in ("equal", "of")
    )
    text = (
        f"Together: {traced_equal} of {traced} traced inputs and {equal} of {of} sizes as in the"
        f" original; {clean} of {runs} strict runs without a miss. Libraries are {fmean(less):.1%}"
        f" smaller in the mean ({min(less):.1%} to {max(less):.1%})."
    )
    if len(ratios) > 1:
        low, _, high = quantiles(ratios, n=4)
        text += (
            f" Run time with the traced input: {median(ratios):.2f}x, half of the programs"
            f" {low:.2f} to {high:.2f}."
        )
    return text


def _untraced(row: dict[str, Any]) -> str:
    operations = row["operations"]
    text = (
        f"Untraced in the environment of `{row['program']}`: {operations['equal']} of"
        f" {operations['of']} operations of PyTorch as in the original"
        f" ({sum(operations['misses'].values()):,} pieces put back; {operations['wall_s'][1]} s"
        f" against {operations['wall_s'][0]} s)"
    )
    # A program that fails in the original too tells nothing.
    others = {
        name: case
        for name, case in row.get("other_programs", {}).items()
        if case["exit_codes"][0] == 0
    }
    if not others:
        return text + "."
    right = [name for name, case in others.items() if _as_original(case)]
    before, after = (sum(case["wall_s"][number] for case in others.values()) for number in (0, 1))
    missed = sum(sum(case["misses"].values()) for case in others.values())
    text += (
        f". Other programs: {len(right)} of {len(others)} ({missed:,} pieces put back;"
        f" {after:.0f} s against {before:.0f} s in all)"
    )
    wrong = sorted(others.keys() - set(right))
    return text + (f"; not {', '.join(f'`{name}`' for name in wrong)}." if wrong else ".")


def _as_original(case: dict[str, Any]) -> bool:
    before, after = case["exit_codes"]
    return bool(case["equal"] == case["of"] and before == after)


def _eager(row: dict[str, Any]) -> str:
    eager = row["eager"]
    words = "as in the original" if _as_original(eager) else "**not as in the original**"
    text = f"`{row['program']}` under eager loading: {words}"
    if "peak_rss_bytes" in eager:
        before, after = (each / 1e6 for each in eager["peak_rss_bytes"])
        text += f", peak memory {after:,.0f} MB against {before:,.0f} MB"
    return f"{text}; {eager['wall_s'][1]} s against {eager['wall_s'][0]} s."
