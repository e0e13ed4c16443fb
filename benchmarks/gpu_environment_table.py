"""The table of benchmarks/README.md on whole CUDA environments made slim, files and libraries."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "results/gpu_files.jsonl"
_BAR = 0.85
_HEAD = (
    "program",
    "after",
    "smaller",
    "files left",
    "sizes not traced",
    "put back there",
    "strict",
    "made in",
)


def lines() -> list[str]:
    """Return the bar, how many programs meet it, and a line a program."""
    rows = [json.loads(line) for line in _RESULTS.read_text().splitlines()]
    met = sum(_is_met(row) for row in rows)
    before = sorted({row["environment_before_bytes"] for row in rows})
    files = sorted({sum(_files(row)) for row in rows})
    return [
        f"Before: {_listed(size / 1e6 for size in before)} MB, {_listed(files)} files. Bar: at"
        f" least {_BAR:.0%} smaller and outputs right (published, by hand: 40 to 60 %); {met} of"
        f" {len(rows)} programs meet it.",
        "",
        f"| {' | '.join(_HEAD)} |",
        "|---" * len(_HEAD) + "|",
        *(_line(row) for row in rows),
    ]


def _line(row: dict[str, Any]) -> str:
    held_out, strict = row["held_out"], row.get("strict")
    cells = (
        f"`{row['program']}`" + ("" if _is_met(row) else " (**missed**)"),
        f"{row['environment_after_bytes'] / 1e6:,.0f} MB",
        f"{_smaller(row):.1%}",
        f"{_files(row)[0]:,}",
        f"{held_out['equal']}/{held_out['of']}",
        f"{sum(held_out['misses'].values()):,}",
        f"{strict['clean']}/{strict['runs']}" if strict else "not measured",
        f"{row['debloat_s']:,.0f} s",
    )
    return f"| {' | '.join(cells)} |"


def _is_met(row: dict[str, Any]) -> bool:
    right = all(case["equal"] == case["of"] for case in (row["traced_input"], row["held_out"]))
    return right and _smaller(row) >= _BAR


def _smaller(row: dict[str, Any]) -> float:
    return float(1 - row["environment_after_bytes"] / row["environment_before_bytes"])


def _files(row: dict[str, Any]) -> tuple[int, int]:
    """Return how many files stay, and how many go."""
    files = row["removed_files"]
    return files["kept_files"], files["removed_files"]


def _listed(numbers: Iterable[float]) -> str:
    return " or ".join(f"{number:,.0f}" for number in numbers)
