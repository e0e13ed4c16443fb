"""Rows of benchmarks/README.md on whole CUDA environments made slim, files and libraries."""

import json
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "results/gpu_files.jsonl"
_BAR = 0.85


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each program."""
    return [_row(json.loads(line)) for line in _RESULTS.read_text().splitlines()]


def _row(row: dict[str, Any]) -> tuple[str, str, str, str]:
    before, after = row["environment_before_bytes"], row["environment_after_bytes"]
    traced, held_out, strict = row["traced_input"], row["held_out"], row.get("strict")
    stay = row["removed_files"]["kept_files"]
    every = stay + row["removed_files"]["removed_files"]
    smaller = 1 - after / before
    right = all(case["equal"] == case["of"] for case in (traced, held_out))
    clean = f"{strict['clean']} of {strict['runs']}" if strict else "not measured"
    what = (
        f"`{row['program']}`: an environment of CUDA 13 with PyTorch, JAX, CuPy and Transformers,"
        " for one program, on an NVIDIA H200 (`corpus/gpu/run.py`, the default)"
    )
    measured = (
        f"{before / 1e6:,.0f} to {after / 1e6:,.0f} MB on disk ({-smaller:.1%}), of"
        f" {every:,} files {stay:,} stay;"
        f" traced input equal, {held_out['equal']} of {held_out['of']} sizes not traced equal"
        f" ({sum(held_out['misses'].values()):,} pieces put back), strict"
        f" {clean}; made in"
        f" {row['debloat_s']:,.0f} s beside others on 16 cores"
    )
    bar = f"at least {_BAR:.0%} smaller, outputs right (published, by hand: 40 to 60 %)"
    return what, bar, measured, "met" if right and smaller >= _BAR else "**missed**"
