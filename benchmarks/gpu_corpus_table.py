"""The table of benchmarks/README.md on programs for a GPU that run as they were not traced."""

import json
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

HEAD = (
    "program",
    "libraries",
    "less",
    "settled in",
    "traced input",
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
    held_out, traced, strict = row["held_out"], row["traced_input"], row["strict"]
    settling = row.get("settling")
    cells = (
        f"`{row['program']}`" + (f" ({row['note']})" if "note" in row else ""),
        f"{before / 1e6:,.0f} MB",
        f"{1 - after / before:.0%}",
        f"{settling['runs']} runs, {settling['builds']} builds" if settling else "",
        f"{traced['equal']} of {traced['of']}, {sum(traced['misses'].values())} missed",
        f"{held_out['equal']} of {held_out['of']}",
        f"{sum(held_out['misses'].values()):,}",
        f"{strict['clean']} of {strict['runs']}",
        f"{row['run_time']['ratio']:.2f}x" if "run_time" in row else "",
    )
    return f"| {' | '.join(cells)} |"


def _together(rows: list[dict[str, Any]]) -> str:
    equal, of = (sum(row["held_out"][key] for row in rows) for key in ("equal", "of"))
    clean, runs = (sum(row["strict"][key] for row in rows) for key in ("clean", "runs"))
    less = [1 - row["libraries_after_bytes"] / row["libraries_before_bytes"] for row in rows]
    ratios = [row["run_time"]["ratio"] for row in rows if "run_time" in row]
    text = (
        f"Together: {equal} of {of} sizes as in the original, {clean} of {runs} strict runs"
        f" without a miss; libraries {fmean(less):.1%} smaller in the mean of the programs"
        f" ({min(less):.1%} to {max(less):.1%})."
    )
    if len(ratios) > 1:
        low, _, high = quantiles(ratios, n=4)
        text += (
            " Run time with the traced input, slim against original by turns:"
            f" {median(ratios):.2f}x, half of the programs {low:.2f} to {high:.2f}."
        )
    return text


def _untraced(row: dict[str, Any]) -> str:
    operations = row["operations"]
    text = (
        f"In the environment of `{row['program']}`, {operations['equal']} of {operations['of']}"
        f" operations of PyTorch that it never asked for were as in the original"
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
        f", and {len(right)} of {len(others)} other programs ({missed:,} pieces put back;"
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
    text = f"Under eager loading (`CUDA_MODULE_LOADING=EAGER`), `{row['program']}` was {words}"
    if "peak_rss_bytes" in eager:
        before, after = (each / 1e6 for each in eager["peak_rss_bytes"])
        text += f", with a peak of {after:,.0f} MB of memory against {before:,.0f} MB"
    return f"{text}; {eager['wall_s'][1]} s against {eager['wall_s'][0]} s."
