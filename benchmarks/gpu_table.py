"""The rows of the GPU's table in benchmarks/README.md, from `results/h200/`."""

from typing import Any

import pandas as pd
from common import RESULTS

from trimtab.files import read_json

FOLDER = RESULTS / "h200"
MAIN = ("mobilenetv2_train_cuda", "mobilenetv2_inference_cuda", "transformer_train_cuda",
        "transformer_inference_cuda")  # fmt: skip
EAGER = ("mobilenetv2_inference_cuda_eager", "transformer_inference_cuda_eager")
Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    """What, bar, measured and verdict; the published figures stand with the bars."""
    libraries = pd.read_csv(FOLDER / "libraries.csv").groupby("target").sum(numeric_only=True)
    runs = pd.read_csv(FOLDER / "runs.csv")
    overhead = pd.read_csv(FOLDER / "overhead.csv")
    cold = pd.read_csv(FOLDER / "cold.csv")
    return [
        *_size_rows(libraries),
        *_time_rows(overhead),
        *(row for name in EAGER for row in _eager_rows(runs, name)),
        *(_lazy_row(runs, name) for name in MAIN),
        _cold_row(cold),
        _output_row(runs),
        _frameworks_row(libraries, runs),
    ]


def _met(met: bool) -> str:
    return "met" if met else "**missed**"


def _removed(libraries: pd.DataFrame, name: str, stem: str) -> float:
    row = libraries.loc[name]
    return float(
        100 * (1 - row[f"{stem.replace('*', 'after')}"] / row[stem.replace("*", "before")])
    )


def _size_rows(libraries: pd.DataFrame) -> list[Row]:
    found = []
    for what, stem, bar, published in (
        ("GPU code removed", "gpu_bytes_*", 99, "72-75 %"),
        ("elements removed", "elements_*", 98, "97-98 %"),
        ("all shared libraries, on disk", "disk_*_bytes", 80, "53-55 %"),
    ):
        shares = {name: _removed(libraries, name, stem) for name in MAIN}
        text = "; ".join(f"{name} {share:.2f} %" for name, share in shares.items())
        met = _met(min(shares.values()) >= bar)
        found.append((what, f"at least {bar} % (published {published})", text, met))
    return found


def _ratios(
    runs: pd.DataFrame, other: str, column: str, base: str = "original"
) -> "pd.Series[Any]":
    pairs = runs.pivot_table(index="repeat", columns="condition", values=column).dropna()
    return 100 * (pairs[other] / pairs[base] - 1)


def _change(runs: pd.DataFrame, column: str, other: str = "debloated") -> tuple[float, str]:
    change = _ratios(runs, other, column)
    text = f"{change.median():+.1f} % ({change.min():+.1f} to {change.max():+.1f})"
    return float(change.median()), text


def _time_rows(overhead: pd.DataFrame) -> list[Row]:
    (name,) = set(overhead["workload"])
    detection, detection_text = _change(overhead, "wall_s", "traced_kernels")
    _, both_text = _change(overhead, "wall_s", "traced")
    _, profiler_text = _change(overhead, "wall_s", "cupti_activity")
    medians = overhead.groupby("condition")["wall_s"].median()
    allowed = 1.15 * medians["original"] + 2
    seconds = {path.stem: read_json(path) for path in (FOLDER / "seconds").glob("*.json")}
    slowest = max(MAIN, key=lambda target: seconds[target]["debloat_s"])
    worst = seconds[slowest]
    return [
        (f"GPU detection, {name}", "at most 3 % (published 41 %)", detection_text,
         _met(detection <= 3)),
        ("CPU and GPU detection together, likewise", "at most 15 % plus 2 s",
         f"{both_text}: {medians['traced']:.2f} s against {medians['original']:.2f} s",
         _met(medians["traced"] <= allowed)),
        ("every GPU activity by CUPTI, likewise (stand-in for a profiler)",
         "none (published, NSys: 126 %)", profiler_text, "for comparison"),
        ("trace end to locate, compact, measure and write, all libraries, one run of each target",
         "at most 45 s (published 344-1,247 s with the runs)",
         f"at most {worst['debloat_s']:.1f} s ({slowest}), {worst['with_environment_s']:.1f} s with"
         " the environment", _met(worst["with_environment_s"] <= 45)),
    ]  # fmt: skip


def _eager_rows(runs: pd.DataFrame, name: str) -> list[Row]:
    own = runs[runs["workload"] == name]
    pairs = own["repeat"].nunique()
    few = "" if pairs >= 5 else f", by {pairs} pairs, not 5"
    parts = []
    for what, column, bar, published in (
        ("peak CPU memory", "peak_rss_bytes", -75, -74.6),
        ("peak GPU memory", "peak_gpu_memory_bytes", -50, -69.6),
        ("run time", "wall_s", -45, -44.6),
    ):
        median, text = _change(own, column)
        parts.append((what, f"{bar} % (published {published} %)", text, _met(median <= bar)))
    names, bars, texts, verdicts = (", ".join(part) for part in zip(*parts, strict=True))
    return [(f"eager loading, {name}, {pairs} pairs: {names}", bars, texts, verdicts + few)]


def _lazy_row(runs: pd.DataFrame, name: str) -> Row:
    own = runs[runs["workload"] == name]
    texts = [_change(own, column)[1] for column in ("peak_rss_bytes", "peak_gpu_memory_bytes")]
    slower, text = _change(own, "wall_s")
    within = _ratios(own, "debloated", "wall_s").min() <= 0
    return (
        f"lazy loading, {name}: peak CPU memory, peak GPU memory, run time",
        "no slower than the original (published -0.2, 0, -20 %)", "; ".join([*texts, text]),
        "met" if slower <= 0 else "**missed**, within its spread" if within else "**missed**",
    )  # fmt: skip


def _cold_row(cold: pd.DataFrame) -> Row:
    (name,) = set(cold["workload"])
    wall, start = _change(cold, "wall_s"), _change(cold, "start_up_s")
    text = f"run time {wall[1]}, start-up {start[1]}"
    return f"cold page cache, {name}, 5 pairs", "no slower", text, _met(wall[0] <= 0)


def _output_row(runs: pd.DataFrame) -> Row:
    equal = []
    for (name, hardware), own in runs.groupby(["workload", "hardware"]):
        reference = own.loc[own["condition"] == "original", "output_digest"].iloc[0]
        slim = own[own["condition"] == "debloated"]
        equal.append(
            (f"{name} ({hardware})", (slim["output_digest"] == reference).sum(), len(slim))
        )
    text = "; ".join(f"{name} {same}/{all_}" for name, same, all_ in equal)
    return "outputs", "equal to the last bit", text, _met(all(a == b for _, a, b in equal))


def _frameworks_row(libraries: pd.DataFrame, runs: pd.DataFrame) -> Row:
    names = [name for name in sorted(libraries.index) if name not in (*MAIN, *EAGER)]
    text = "; ".join(
        f"{name} {_removed(libraries, name, 'gpu_bytes_*'):.1f} %,"
        f" {_removed(libraries, name, 'disk_*_bytes'):.1f} %"
        for name in names
    )
    failed = read_json(FOLDER / "not_verified.json")
    for name, what in failed.items():
        text += f"; {name}: not verified, {what['removed_calls']} removed functions were called"
    return "other frameworks: GPU code removed, libraries on disk", "none", text, "reported"
