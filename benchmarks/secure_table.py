"""The rows of secure tasks in benchmarks/README.md, from the results beside it."""

from collections.abc import Iterator
from typing import Any

from common import load

Row = tuple[str, str, str, str]
RESULTS = ("enclave_calls", "enclave_model", "task_graphs")
_NAMES = {
    "cholesky": "Cholesky",
    "matmul": "matrix multiplication",
    "dot_product": "dot product",
    "stream_barr": "Stream with barriers",
}


def rows() -> list[Row]:
    """What, bar, measured and verdict of every part that has results."""
    found: list[Row] = []
    for name in RESULTS:
        figures: Any = load(name)
        if figures:
            found += _ROWS[name](figures)
    return found


def _met(met: bool) -> str:
    return "met" if met else "**missed**"


def _range(figures: dict[str, Any], digits: int) -> str:
    low, high = figures["low"], figures["high"]
    return f"{figures['median']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _calls(found: dict[str, Any]) -> Iterator[Row]:
    for kind, call in found["call_us"].items():
        if "median" in call:
            yield (
                f"a call of the enclave `{kind}`, 64 bytes in and out",
                f"at most {call['bar_us']:g} us",
                f"{_range(call, 3)} us",
                _met(call["median"] <= call["bar_us"]),
            )
    for program, one in found["second_worker"].items():
        yield (
            f"a second worker, {_NAMES[program]} of {one['size']} in blocks of {one['block']}",
            f"{one['bar_speed_up']:g}x, with tasks of {one['bar_task_us']:g} us or more",
            f"{_range(one['speed_up'], 2)}x, with tasks of {one['task_us']:.0f} us",
            _met(
                one["speed_up"]["median"] >= one["bar_speed_up"]
                and one["task_us"] >= one["bar_task_us"]
            ),
        )


def _model(found: dict[str, Any]) -> Iterator[Row]:
    left_out = found["left_out"]
    yield (
        "model of enclaves against 1,800 published run times, an application left out of the fit"
        " each time",
        f"median error at most {100 * left_out['bar_median']:.0f} %",
        f"{100 * left_out['all']['median']:.1f} %; nine tenths below"
        f" {100 * left_out['all']['nine_tenths']:.0f} %",
        _met(left_out["bar_met"]),
    )
    gains: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for gain in found["published_gains"]:
        gains.setdefault((gain["application"], gain["workers"]), []).append(gain)
    for (application, workers), both in gains.items():
        measured = "; ".join(
            f"*{one['variant']}* by formula {one['modelled_pct']:.1f} %, simulated"
            f" {one['simulated_pct']:.1f} % (the authors' run times: {one['measured_pct']:.1f} %)"
            for one in both
        )
        bar = f"within 10 points of {both[0]['published_pct']:g} %"
        verdict = _met(all(one["within_10_points"] for one in both))
        if application == "dot_product":  # no bar: the run times do not bear out what is stated
            bar, verdict = f"reported; stated as {both[0]['published_pct']:g} %", ""
        yield f"modelled gain of {workers} workers, {_NAMES[application]}", bar, measured, verdict
    best = {
        **found["dot_product_best_workers"],
        **{f"{k} simulated": v for k, v in found["dot_product_best_workers_simulated"].items()},
    }
    yield (
        "dot product: the number of workers at which it is modelled to be fastest",
        "2",
        ", ".join(f"{name} {workers}" for name, workers in best.items()),
        _met(set(best.values()) == {2}),
    )


def _graphs(found: dict[str, Any]) -> Iterator[Row]:
    cpu_s = {name: one["median"] for name, one in found["simulated_cpu_s"].items()}
    yield (
        f"a graph of {found['tasks']:,} tasks and {found['dependences']:,} dependences simulated"
        f" on {found['workers']} workers, by policy",
        f"at most {found['bar_s']} s on one core",
        ", ".join(f"{name} {seconds:.2f} s" for name, seconds in cpu_s.items())
        + " of processor time",
        _met(max(cpu_s.values()) <= found["bar_s"]),
    )


_ROWS = {"enclave_calls": _calls, "enclave_model": _model, "task_graphs": _graphs}
