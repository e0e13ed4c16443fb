"""The table of benchmarks/README.md on tuning."""

from collections.abc import Iterator
from typing import Any

from common import load
from tuning import response

_WORDS = {
    "pipetune": "PipeTune, nothing known",
    "pipetune_least_energy": "PipeTune for the least energy, nothing known",
    "pipetune_known": "PipeTune, the workload known",
    "tune_v1_one_core": "Tune V1 with one core a trial",
}
_WHAT = {"energy_j": "energy", "tuning_s": "time"}
Row = tuple[str, str, str, str]
_FEWEST_PAIRS = 5  # for a verdict
_RESPONSE_BAR = 0.7


def rows() -> list[Row]:
    """What, bar, measured and verdict of every benchmark of tuning that has results."""
    found: list[Row] = []
    for name, rows_of in _OF.items():
        if figures := load(f"tuning_{name}"):
            found += rows_of(figures)
    return found


def _pipetune(figures: Any) -> Iterator[Row]:
    for where, measured in figures["workloads"].items():
        for who, words in _WORDS.items():
            ratios = {
                what: measured["to_tune_v1"][f"{who}/{what}"]
                for what in _WHAT
                if f"{who}/{what}" in measured["to_tune_v1"]
            }
            if not ratios:
                continue
            barred = {what: ratio for what, ratio in ratios.items() if "bar" in ratio}
            seeds = max(len(ratio["values"]) for ratio in ratios.values())
            yield (
                f"{where}: {words}",
                ", ".join(
                    f"{_WHAT[what]} {_change(ratio['bar'])}" for what, ratio in barred.items()
                ),
                ", ".join(f"{_WHAT[what]} {_with_range(ratio)}" for what, ratio in ratios.items())
                + f", {seeds} seeds",
                ", ".join(
                    f"{_WHAT[what]} {_verdict(ratio['met'])}" for what, ratio in barred.items()
                ),
            )
        runs = measured["searches"]
        if "pipetune_known" in runs:
            found = {share: response.ratio(runs, share) for share in response.LOADS}
            enough = len(runs["tune_v1"]) >= _FEWEST_PAIRS
            yield (
                f"{where}: mean response time of jobs (`tuning/response.py`)",
                _change(_RESPONSE_BAR),
                ", ".join(
                    f"load {share:.0%}: {_with_range(ratio)}" for share, ratio in found.items()
                ),
                _verdict(
                    max(ratio["high"] for ratio in found.values()) <= _RESPONSE_BAR
                    if enough
                    else None
                ),
            )


def _edgetune(figures: Any) -> Iterator[Row]:
    for where, measured in figures["budgets"].items():
        said, met = [], []
        for target in measured["targets"]:
            ratio = target["ratio"]
            reached = bool(ratio and ratio.get("pairs"))
            words = _with_range(ratio) if reached else "reached by no search"
            said.append(f"{target['test_accuracy']:.3f}: {words}")
            met += [ratio["high"] <= 0.8] if reached else []
        yield (
            f"{where}: training until an accuracy, epochs and data growing, against the better of"
            " one alone (`tuning/edgetune.py`, simulated over measured times)",
            "-20 %",
            "; ".join(said),
            _verdict(all(met)) if met else "",
        )
    for what, bar in (("wall_s", 0.82), ("energy_j", 0.75)):
        if (ratio := figures.get("baseline", {}).get("ratios", {}).get(what)) is None:
            continue
        yield (
            f"LeNet5: {'tuning time' if what == 'wall_s' else 'energy (modelled)'}, EdgeTune for"
            " time against BOHB for accuracy (`tuning/edgetune.py`)",
            _change(bar),
            f"{_with_range(ratio)}, {ratio['pairs']} seeds",
            _verdict(ratio["high"] <= bar if ratio["pairs"] >= _FEWEST_PAIRS else None),
        )


def _inference_error(figures: Any) -> Iterator[Row]:
    every = figures["percent_error"]["all"]
    yield (
        "time of inference, estimated against measured under constraint"
        " (`tuning/inference_error.py`)",
        "median at most 10 %, all at most 20 %",
        f"median {every['median']:.1f} %, worst {every['worst']:.0f} %, {every['estimates']}"
        f" estimates, {every['within_20_percent']:.0%} within 20 %",
        _verdict(every["median"] <= 10 and every["worst"] <= 20),
    )


def _surrogates(figures: Any) -> Iterator[Row]:
    for family, budgets in figures.items():
        if not isinstance(budgets, dict):
            continue
        for budget, methods in budgets.items():
            for method, measured in methods.items():
                if method.partition(":")[0] == "ours":  # by other settings it is no peer
                    continue
                less = measured["ours_less_this"]
                low, high = less["interval"]
                yield (
                    f"{family}, {budget}: regret of ours against {method} (`tuning/surrogates.py`)",
                    "not worse",
                    f"{less['difference']:+.3f} ({low:+.3f} to {high:+.3f}),"
                    f" {measured['tasks']} tasks, {measured['seeds']} seeds",
                    _verdict(low <= 0 if measured["complete"] else None),
                )


def _overhead(figures: Any) -> Iterator[Row]:
    whole = figures["search"]["overhead_s"]
    yield (
        "a trial's time beyond its program's start and epochs, Tune V1, LeNet5"
        " (`tuning/overhead.py`)",
        f"at most {figures['bar_s']} s",
        f"{whole['median']:.2f} s ({whole['low']:.2f} to {whole['high']:.2f},"
        f" {len(whole['values'])} searches)",
        _verdict(figures["search"]["met"]),
    )
    slowest = max(row["trial_s"]["median"] for row in figures["rows"])
    yield (
        "the engine's time for a trial, up to 1,000 in its journal (`tuning/overhead.py`)",
        f"at most {figures['bar_s']} s",
        f"{slowest:.2f} s, the largest of {len(figures['rows'])} medians",
        _verdict(slowest <= figures["bar_s"]),
    )


def _ray(figures: Any) -> Iterator[Row]:
    for workload, by_who in figures["workloads"].items():
        if workload.endswith("_epochs"):
            continue
        for system, words in (("tune_v1", "Tune V1"), ("tune_v2", "Tune V2")):
            each = [
                f"{one['tuning_s']['median']:.0f} s ({one['tuning_s']['low']:.0f} to"
                f" {one['tuning_s']['high']:.0f}) for {one['work_epochs']['median']:.0f} epochs,"
                f" accuracy {one['accuracy']['median']:.3f}"
                for one in (by_who[f"ray_{system}"], by_who[system])
            ]
            yield (
                f"{workload}: {words} on Ray Tune {figures['ray']}; on this engine"
                " (`tuning/ray_tune.py`)",
                "",
                "; ".join(each),
                "",
            )


def _with_range(ratio: Any) -> str:
    low, high = (f"{(ratio[end] - 1) * 100:+.0f}" for end in ("low", "high"))
    return f"{_change(ratio['median'])} ({low} to {high})"


def _change(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.0f} %"


def _verdict(met: bool | None) -> str:
    return {True: "met", False: "**missed**", None: "not measured in full"}[met]


RESULTS = _OF = {
    "pipetune": _pipetune,
    "pipetune_h200": _pipetune,
    "pipetune_h200_cuda": _pipetune,
    "edgetune": _edgetune,
    "inference_error": _inference_error,
    "surrogates": _surrogates,
    "overhead": _overhead,
    "ray": _ray,
}
