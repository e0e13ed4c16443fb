"""By how much estimates of inference miss: the percent error of the thesis' section 7.5.4.

    sudo python benchmarks/tuning/inference_error.py [--seconds 480]

Models run for real with each batch size, on one core and on two, at full speed and stopped for half
and for three quarters of the time: that is the truth. Each is estimated from the full speed of some
batch sizes, each about four times the one before, and from how much longer the first and the last
of these take where they are stopped; what is estimated from is not compared. `by_share_alone` are
the errors without that, where full speed is divided by the share.

All processes of a model live at once and take turns, in rounds, under a real-time policy. A round
has an estimate and a truth of each case, taken within seconds of each other: how fast this machine
is changes from minute to minute, and counts as nobody's error. A case's error is that of its median
ratio over the rounds. `spread` says how far the truth is from itself: half of the interquartile
range over its median, as the bar cannot be judged where the truth does not hold still. The verdict
is of all errors as they are; a case is called `unresolved` where its error is above 20 % and not
above the spread. `load` is that of the machine beside this benchmark, whose figures are said to be
of a loaded machine where it is more than half a CPU.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from batch_times import BatchTimes
from common import save

from trimtab.config import Configurations
from trimtab.config.groups.workload import Workload
from trimtab.tuning.inference.emulation import InferenceConfiguration, settings_of
from trimtab.tuning.inference.serving import batches_of
from trimtab.tuning.trials.events import EpochEnd
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings

PROJECT = Path(__file__).resolve().parents[2]
MODELS = {  # the sizes that are estimated from, and those between them
    "lenet5_inference": ((1, 4, 16, 64, 256), (2, 32, 128)),
    "lstm_inference": ((1, 4, 16, 64, 256), (2, 32, 128)),
    "mobilenetv2_inference": ((1, 4, 16, 64), (2, 8, 32)),
    "transformer_inference": ((1, 4, 8), (2, 6)),
}
CORES = (1, 2)
SHARES = (0.25, 0.5, 1.0)  # full speed last: nothing is stopped by turns then
STOPPED_S = 0.5  # of batches in a turn: the more, the less matters when it was stopped first
FEWEST_ROUNDS = 3
LOADED = 0.5  # CPUs
PUBLISHED = "at most 20 % (Rocha's thesis, figure 7.14)"
Case = tuple[int, int, float]  # the batch size, cores and the share of the CPUs' time
Round = dict[Case, float]  # s of a batch


class Turns:
    """A process that serves batches of one size, a turn at a time."""

    def __init__(self, workload: Workload, size: int, cores: int, folder: Path) -> None:
        self.configuration = InferenceConfiguration(size, cores)
        given = {"batch_size": size}
        settings = settings_of(self.configuration)
        self._process = TrialProcess.start(workload, given, folder, settings, timeout_s=900)

    def wait(self) -> tuple[float, float]:
        """Return how many batches there were in a round, and their time in s."""
        event = self._process.next_event()
        assert isinstance(event, EpochEnd) and event.not_set == {}, event
        batches, served_s, _ = batches_of(event.metrics)
        return batches, served_s

    def take(self, cpu_share: float) -> float:
        """Have a turn at a share of the CPUs' time; return the mean time of a batch, in s."""
        batches = served_s = 0.0
        while served_s == 0 or (cpu_share < 1 and served_s < STOPPED_S):
            self._process.answer(SystemSettings(cpu_share=cpu_share))
            more, took_s = self.wait()
            batches, served_s = batches + more, served_s + took_s
        return served_s / batches

    def schedule(self, policy: int, priority: int = 0) -> None:
        """Set the policy of all its threads."""
        for process in self._process.processes():
            for thread in os.listdir(f"/proc/{process.pid}/task"):
                os.sched_setscheduler(int(thread), policy, os.sched_param(priority))

    def close(self) -> None:
        """End it."""
        self._process.kill()


def rounds_of(
    workload: Workload, sizes: Iterable[int], seconds: float, folder: Path
) -> list[Round]:
    """The mean time of a batch in each case, round by round, until `seconds` are over."""
    ends_at = time.monotonic() + seconds
    with ExitStack() as stack:
        stack.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))  # as it stops the others
        running = []
        for number, (size, cores) in enumerate((s, c) for s in sorted(sizes) for c in CORES):
            running.append(Turns(workload, size, cores, folder / str(number)))
            stack.callback(running[-1].close)
        for one in running:
            one.wait()  # the warm-up, of which a second round follows when all have started
        for one in running:
            # No other program interrupts it: two threads that wait for each other would lose twice.
            one.schedule(os.SCHED_RR, 1)
            one.take(1.0)
        rounds: list[Round] = []
        took_s = 0.0
        while len(rounds) < FEWEST_ROUNDS or time.monotonic() + took_s < ends_at:
            began = time.monotonic()
            rounds.append(
                {
                    (one.configuration.batch_size, one.configuration.cores, share): one.take(share)
                    for one in running
                    for share in SHARES
                }
            )
            took_s = time.monotonic() - began
        return rounds


def compared(rounds: list[Round], anchors: tuple[int, ...]) -> Iterable[dict[str, float]]:
    """Each case that is not estimated from: the truth with its spread, the estimate, the error."""
    truths, estimates, by_share = defaultdict(list), defaultdict(list), defaultdict(list)
    ends = (anchors[0], anchors[-1])
    for times in rounds:
        known = {(size, cores): times[size, cores, 1.0] for size in anchors for cores in CORES}
        slowed = {
            (size, cores, share): times[size, cores, share] / times[size, cores, 1.0]
            for size in ends
            for cores in CORES
            for share in SHARES
        }
        model, share_alone = BatchTimes(known, slowed), BatchTimes(known)
        for (size, cores, share), time_s in times.items():
            if size not in anchors or (share < 1 and size not in ends):
                truths[size, cores, share].append(time_s)
                estimates[size, cores, share].append(model.batch_s(size, cores, share))
                by_share[size, cores, share].append(share_alone.batch_s(size, cores, share))
    for case, of in truths.items():
        low, usual, high = statistics.quantiles(of, n=4, method="inclusive")
        bias, spread = off_percent(estimates[case], of), 100 * (high - low) / 2 / usual
        yield {
            **dict(zip(("batch_size", "cores", "cpu_share"), case, strict=True)),
            "measured_s": usual,
            "spread_percent": spread,
            "estimated_s": statistics.median(estimates[case]),
            "bias_percent": bias,
            "percent_error": abs(bias),
            "percent_error_by_share_alone": abs(off_percent(by_share[case], of)),
            "unresolved": 20 < abs(bias) <= spread,
        }


def off_percent(estimates: list[float], truths: list[float]) -> float:
    """The median over rounds of by how much an estimate is above the truth of its round."""
    ratios = [one / other for one, other in zip(estimates, truths, strict=True)]
    return 100 * (statistics.median(ratios) - 1)


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    errors = sorted(row["percent_error"] for row in rows)
    return {
        "estimates": len(errors),
        "median": statistics.median(errors),
        "within_20_percent": sum(error <= 20 for error in errors) / len(errors),
        "worst": errors[-1],
        "unresolved": sum(row["unresolved"] for row in rows),
        "median_by_share_alone": statistics.median(
            row["percent_error_by_share_alone"] for row in rows
        ),
        "worst_by_share_alone": max(row["percent_error_by_share_alone"] for row in rows),
        "spread_of_the_truth": statistics.median(row["spread_percent"] for row in rows),
    }


def load_beside(seconds: float = 2.0) -> float:
    """How many CPUs others keep busy, while nothing of this benchmark runs."""
    return psutil.cpu_percent(seconds) / 100 * os.cpu_count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--seconds", type=float, default=480, help="of all four models")
    given = parser.parse_args()
    os.chdir(PROJECT)
    configurations = Configurations(PROJECT / "conf")
    rows, load, counts = [], [load_beside()], []
    with tempfile.TemporaryDirectory() as folder:
        for model in given.model or MODELS:
            workload = replace(configurations.option("workload", model), timeout_s=300)
            anchors, between = MODELS[model]
            rounds = rounds_of(
                workload, anchors + between, given.seconds / len(MODELS), Path(folder) / model
            )
            counts.append(len(rounds))
            load.append(load_beside())
            for row in compared(rounds, anchors):
                rows.append({"model": model, **row})
                print(
                    f"{model} {row['batch_size']:3} on {row['cores']}, {row['cpu_share']:.2f}:"
                    f" {1e3 * row['measured_s']:9.3f} ms +- {row['spread_percent']:4.1f} %,"
                    f" estimated {1e3 * row['estimated_s']:9.3f} ms, {row['bias_percent']:+6.1f} %",
                    flush=True,
                )
    by = {
        "all": rows,
        **{model: [row for row in rows if row["model"] == model] for model in MODELS},
        "other batch sizes, full speed": [row for row in rows if row["cpu_share"] == 1],
        **{f"{share:g} of the time": [row for row in rows if row["cpu_share"] == share]
           for share in SHARES[:-1]},
        **{f"{cores} cores": [row for row in rows if row["cores"] == cores] for cores in CORES},
    }  # fmt: skip
    figures = {name: summary(some) for name, some in by.items() if some}
    for name, figure in figures.items():
        print(name, {key: round(value, 3) for key, value in figure.items()})
    is_met = figures["all"]["median"] <= 10 and figures["all"]["worst"] <= 20
    is_loaded = max(load) > LOADED
    print("met" if is_met else "missed", "on a loaded machine" if is_loaded else "", max(load))
    if not given.model:
        save("tuning_inference_error", {
            "bar": "median at most 10 %, all at most 20 %",
            "verdict": "met" if is_met else "missed",
            "machine_was": "loaded" if is_loaded else "quiet",
            "published": PUBLISHED,
            "load": {"median": statistics.median(load), "high": max(load)},
            "rounds": counts,
            "percent_error": figures,
            "rows": rows,
        })  # fmt: skip


if __name__ == "__main__":
    main()
