"""By how much estimates of inference miss: the percent error of the thesis' section 7.5.4.

    sudo python benchmarks/tuning/inference_error.py [--turns 4]

Models run for real with each batch size, on one core and on two, at full speed and stopped for half
and for three quarters of the time. Each is estimated from the full speed of three batch sizes; what
is estimated from is not compared. All processes of a model live at once and take turns, of 0.25 s
of batches or one of them, under a real-time policy; beside those of each process is a turn of the
same reference: times are medians of the ratios to it, as other work of the machine slows turns that
lie minutes apart down by different factors. `load` is that of the machine meanwhile.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import save

from trimtab.config import Configurations
from trimtab.config.groups.workload import Workload
from trimtab.tuning.inference.emulation import InferenceConfiguration, settings_of
from trimtab.tuning.inference.prediction import BatchTimes
from trimtab.tuning.inference.serving import batches_of
from trimtab.tuning.trials.events import EpochEnd
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings

PROJECT = Path(__file__).resolve().parents[2]
MODELS = {
    "lenet5_inference": (1, 4, 16, 64, 256),
    "lstm_inference": (1, 4, 16, 64, 256),
    "mobilenetv2_inference": (1, 2, 4, 16, 64),
    "transformer_inference": (1, 2, 4, 8),
}
CORES = (1, 2)
SHARES = (1.0, 0.5, 0.25)
PUBLISHED = "at most 20 % (Rocha's thesis, figure 7.14)"


class Turns:
    """A process that serves batches of one size, a turn at a time."""

    def __init__(self, workload: Workload, size: int, cores: int, folder: Path) -> None:
        self.configuration = InferenceConfiguration(size, cores)
        given = {"batch_size": size}
        settings = settings_of(self.configuration)
        self._process = TrialProcess.start(workload, given, folder, settings, timeout_s=900)

    def wait(self) -> float:
        """Return the mean time of a batch in the turn, in s."""
        event = self._process.next_event()
        assert isinstance(event, EpochEnd) and event.not_set == {}, event
        batches, served_s, _ = batches_of(event.metrics)
        return served_s / batches

    def take(self, cpu_share: float) -> float:
        """Have a turn at a share of the CPUs' time."""
        self._process.answer(SystemSettings(cpu_share=cpu_share))
        return self.wait()

    def schedule(self, policy: int, priority: int = 0) -> None:
        """Set the policy of all its threads."""
        for process in self._process.processes():
            for thread in os.listdir(f"/proc/{process.pid}/task"):
                os.sched_setscheduler(int(thread), policy, os.sched_param(priority))

    def close(self) -> None:
        """End it."""
        self._process.kill()


def measured(
    workload: Workload, sizes: Sequence[int], turns: int, folder: Path
) -> dict[tuple[int, int, float], list[float]]:
    """The mean time of a batch in each turn, by batch size, cores and share of the CPUs' time.

    Each is that of the turn by the reference's beside it, times the median of the reference's.
    """
    with ExitStack() as stack:
        stack.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))  # as it stops the others
        names = [(sizes[0], 1), *((size, cores) for size in sizes for cores in CORES)]
        running = []
        for number, (size, cores) in enumerate(names):
            running.append(Turns(workload, size, cores, folder / str(number)))
            stack.callback(running[-1].close)
            running[-1].wait()  # the warm-up
        for one in running:
            # No other program interrupts it: two threads that wait for each other would lose twice.
            one.schedule(os.SCHED_RR, 1)
        reference, *others = running
        references, ratios = [], defaultdict(list)
        for _ in range(turns):
            for one in others:
                reference_s = reference.take(1.0)
                references.append(reference_s)
                size, cores = one.configuration.batch_size, one.configuration.cores
                for share in sorted(SHARES):  # full speed last: nothing is stopped by turns then
                    ratios[size, cores, share].append(one.take(share) / reference_s)
        usual_s = statistics.median(references)
        return {key: [ratio * usual_s for ratio in values] for key, values in ratios.items()}


def compared(times: dict[tuple[int, int, float], float]) -> Iterable[dict[str, float]]:
    """Each time that is not estimated from, beside its estimate."""
    sizes = sorted({size for size, _, _ in times})
    anchors = (sizes[0], sizes[len(sizes) // 2], sizes[-1])
    known = {(size, cores): times[size, cores, 1.0] for size in anchors for cores in CORES}
    estimates = BatchTimes(known)
    for (size, cores, share), time_s in times.items():
        if (size, cores) in known and share == 1.0:
            continue
        estimate_s = estimates.batch_s(size, cores, share)
        yield {
            "batch_size": size,
            "cores": cores,
            "cpu_share": share,
            "measured_s": time_s,
            "estimated_s": estimate_s,
            "percent_error": 100 * abs(estimate_s - time_s) / time_s,
        }


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    errors = sorted(row["percent_error"] for row in rows)
    return {
        "estimates": len(errors),
        "median": statistics.median(errors),
        "within_20_percent": sum(error <= 20 for error in errors) / len(errors),
        "worst": errors[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--turns", type=int, default=4)
    given = parser.parse_args()
    os.chdir(PROJECT)
    configurations = Configurations(PROJECT / "conf")
    rows, spreads = [], []
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        for model in given.model or MODELS:
            workload = replace(configurations.option("workload", model), timeout_s=300)
            turns = measured(workload, MODELS[model], given.turns, Path(folder) / model)
            load.append(os.getloadavg()[0])
            times = {key: statistics.median(values) for key, values in turns.items()}
            spreads += [(max(v) - min(v)) / statistics.median(v) for v in turns.values()]
            for row in compared(times):
                rows.append({"model": model, **row})
                print(*rows[-1].values(), flush=True)
    by = {
        "all": rows,
        **{model: [row for row in rows if row["model"] == model] for model in MODELS},
        "other batch sizes, full speed": [row for row in rows if row["cpu_share"] == 1],
        **{f"{share:g} of the time": [row for row in rows if row["cpu_share"] == share]
           for share in SHARES[1:]},
        **{f"{cores} cores": [row for row in rows if row["cores"] == cores] for cores in CORES},
    }  # fmt: skip
    figures = {name: summary(some) for name, some in by.items() if some}
    for name, figure in figures.items():
        print(name, {key: round(value, 3) for key, value in figure.items()})
    if not given.model:
        save("tuning_inference_error", {
            "bar": "median at most 10 %, all at most 20 %",
            "published": PUBLISHED,
            "load": {"median": statistics.median(load), "high": max(load)},
            "spread_of_turns": {"median": statistics.median(spreads), "high": max(spreads)},
            "percent_error": figures,
            "rows": rows,
        })  # fmt: skip


if __name__ == "__main__":
    main()
