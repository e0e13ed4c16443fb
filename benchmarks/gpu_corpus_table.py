"""The table of benchmarks/README.md on programs for a GPU that run as they were not traced."""

import json
from pathlib import Path
from typing import Any

HEAD = (
    "program",
    "libraries",
    "less",
    "traced input",
    "sizes not traced",
    "put back there",
    "strict",
)
RESULTS = Path(__file__).parent / "results/gpu_corpus.jsonl"


def lines() -> list[str]:
    """Return the table, a line a program, and the sums."""
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    measured = [row for row in rows if "held_out" in row]
    text = [
        f"| {' | '.join(HEAD)} |",
        "|---" * len(HEAD) + "|",
        *(_line(row) for row in measured),
    ]
    equal, of = (sum(row["held_out"][key] for row in measured) for key in ("equal", "of"))
    clean, runs = (sum(row["strict"][key] for row in measured) for key in ("clean", "runs"))
    text += [
        "",
        f"Together: {equal} of {of} sizes as in the original, {clean} of {runs} strict runs",
    ]
    text[-1] += " without a miss."
    for row in measured:
        if "operations" in row:
            text += ["", _untraced(row)]
    for row in rows:
        if "held_out" not in row:
            text += ["", f"`{row['program']}` was not made: {row['error'].splitlines()[-1]}"]
    return text


def _line(row: dict[str, Any]) -> str:
    before, after = row["libraries_before_bytes"], row["libraries_after_bytes"]
    held_out, traced, strict = row["held_out"], row["traced_input"], row["strict"]
    cells = (
        f"`{row['program']}`" + (f" ({row['note']})" if "note" in row else ""),
        f"{before / 1e6:,.0f} MB",
        f"{1 - after / before:.0%}",
        f"{traced['equal']} of {traced['of']}, {sum(traced['misses'].values())} missed",
        f"{held_out['equal']} of {held_out['of']}",
        f"{sum(held_out['misses'].values()):,}",
        f"{strict['clean']} of {strict['runs']}",
    )
    return f"| {' | '.join(cells)} |"


def _untraced(row: dict[str, Any]) -> str:
    operations, others = row["operations"], row["other_programs"]
    right = sum(case["equal"] == case["of"] for case in others.values())
    return (
        f"In the environment of `{row['program']}`, {operations['equal']} of {operations['of']}"
        f" operations of PyTorch that it never asked for were as in the original"
        f" ({sum(operations['misses'].values()):,} pieces put back; {operations['wall_s'][1]} s"
        f" against {operations['wall_s'][0]} s), and {right} of {len(others)} other programs."
    )
