"""PipeTune beside what it is compared with in chapter 6 of the thesis, on this machine.

    python benchmarks/tuning/pipetune.py [--workload NAME]... [--seeds 5] [--seconds LIMIT] [--cuda]
                                         [--contender NAME]...

Six searches a seed, one after the other in an order that changes from seed to seed, all with the
same scheduler, the same pool of CPUs and, but for V2, the same configurations:

    tune_v1           hyperparameters alone; a trial has what a user gets who says nothing: all CPUs
    tune_v1_one_core  the same with one core a trial, so that as many run at once as there are CPUs:
                      what one would choose who knew, and no baseline of the thesis
    tune_v2           system parameters as hyperparameters, accuracy by duration
    pipetune          with an empty ground truth, for the least time
    pipetune_least_energy  the same for the least energy
    pipetune_known    with the ground truth that one search by another seed has left

Verdict: a bar is met where the median over at least five seeds of the ratio to Tune V1 of the same
seed reaches it and every seed's ratio is below 1; of fewer seeds there is none.
"""

import argparse
import itertools
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml
from common import load, save, spread

from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import checked
from trimtab.processes.supervision import supervised
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import machine_meters
from trimtab.profiling.profile import model_of
from trimtab.tuning.plan import RungResult
from trimtab.tuning.tune import Request, tune

PROJECT = Path(__file__).parents[2]
OTHER_SEED = 1000  # of the search that has left the ground truth
EPOCHS = {"least": 9, "most": 27}  # of each trial: training, not the programs' starts, is compared
BARS = {  # of a search's ratio to that of Tune V1
    ("pipetune", "tuning_s"): 0.77,
    ("pipetune", "energy_j"): 0.75,
    ("pipetune_least_energy", "energy_j"): 0.75,
    ("pipetune_known", "tuning_s"): 0.70,
}
SEEDS = 5
MOST_ACCURACY_LOST = 0.005
_AHEAD = 'echo -20 > /proc/self/autogroup; exec nice -n -15 "$@"'


@dataclass(frozen=True)
class Contender:
    """A tuner, for an objective; `one_core` is the default of trials, else all CPUs."""

    kind: str
    objective: str = "accuracy"
    one_core: bool = False
    searched: tuple[str, ...] = ("model", "training")
    known: bool = False


CONTENDERS = {
    "tune_v1": Contender("hyperband"),
    "tune_v1_one_core": Contender("hyperband", one_core=True),
    "tune_v2": Contender(
        "hyperband", "accuracy_by_duration", searched=("model", "training", "system")
    ),
    "pipetune": Contender("pipetune"),
    "pipetune_least_energy": Contender("pipetune", "accuracy_least_energy"),
    "pipetune_known": Contender("pipetune", known=True),
}


def option(group: str, name: str, kind: Any) -> Any:
    """Return a group's option as it stands in its file; no Hydra is needed."""
    given = yaml.safe_load((PROJECT / f"conf/{group}/{name}.yaml").read_text())
    return checked(given, kind)


def workload_of(name: str, cores: int, *, one_core: bool, cuda: bool, ahead: bool) -> Workload:
    """Return a workload with cores from 1 to all, as many epochs as here, and this Python."""
    given = yaml.safe_load((PROJECT / f"conf/workload/{name}.yaml").read_text())
    tuning, command = given["tuning"], given["command"]
    tuning["epochs"] = EPOCHS
    default = 1 if one_core else cores
    tuning["system"] = {
        **tuning.get("system", {}),
        "cores": {"low": 1, "high": cores, "whole": True, "default": default},
    }
    given["python"] = sys.executable
    given["workdir"] = str(PROJECT)
    if ahead and command[0] == "python":
        given["command"] = ["sh", "-c", _AHEAD, "sh", sys.executable, *command[1:]]
    given["env"] = {
        **given.get("env", {}),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT / "src"),
                                                    os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    if cuda:
        given["parameters"]["device"] = "cuda"
        given["env"]["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        tuning["system"]["loader_workers"] = {"choices": [0, 2, 4], "default": 0}
        tuning["system"].pop("memory_gib", None)  # that of processes says nothing of the GPU's
    return checked(given, Workload)


def search(
    name: str, who: str, seed: int, truth: Path, given: argparse.Namespace
) -> dict[str, Any]:
    """Run one search and return what it took and found."""
    one, cores = CONTENDERS[who], len(os.sched_getaffinity(0))
    hardware = model_of(option("hardware", given.hardware, Hardware))
    parameters = {"searched": list(one.searched)} if one.kind == "hyperband" else {}
    request = Request(
        workload_of(name, cores, one_core=one.one_core, cuda=given.cuda, ahead=given.ahead),
        TunerConfig(who, one.kind, parameters=parameters),
        option("objective", one.objective, Objective),
        hardware,
    )
    meters = machine_meters(hardware, Gpus(os.environ))
    results: list[RungResult] = []
    with tempfile.TemporaryDirectory() as folder:
        before, own_s, began = meters.read(), _own_cpu_s(), time.perf_counter()
        tune(request, [seed], Path(folder), truth, lambda _, fold, result: results.append(result))
        tuning_s, after = time.perf_counter() - began, meters.read()
    cpu_s = sum(one.cpu_s for one in results)
    used = meters.share(
        before, after, wall_s=tuning_s, cpu_s=cpu_s + _own_cpu_s() - own_s, resident_byte_s=0.0,
        cores_usable=hardware.cores,
    )  # fmt: skip
    good = [one for one in results if isinstance(one.result, float)]
    best = max(good, key=lambda one: (one.budget, one.result, -one.trial))
    counted = {
        key: after_j - before_j
        for (key, after_j), before_j in zip(
            meters.counted_j(after).items(), meters.counted_j(before).values(), strict=True
        )
    }
    epochs = {one.trial: 0 for one in results}
    steered = {one.trial: one.steering for one in sorted(results, key=lambda one: one.job.rung)}
    for result in results:
        epochs[result.trial] = max(epochs[result.trial], result.budget.epochs)
    started = [one for one in results if one.start_up_s is not None]
    return {
        "tuning_s": tuning_s,
        "energy_j": used.energy_j,
        "energy_source": meters.source,
        "energy_method": meters.method,
        **{key: joules for key, joules in counted.items() if joules > 0},
        "cpu_s": cpu_s,
        "work_epochs": sum(epochs.values()),
        "accuracy": best.metrics.get("test_accuracy", best.metrics["accuracy"]),
        "best": {**best.configuration, **best.settings},
        "start_up_s": statistics.median(one.start_up_s or 0.0 for one in started),
        "overhead_s": _overhead_s(results, tuning_s),
        "at_once": sum(one.wall_s for one in results) / tuning_s,
        "failed": len(results) - len(good),
        "epochs_probed": sum(one["epochs_probed"] for one in steered.values()),
        "known": sum(one["known"] for one in steered.values()),
    }


def _overhead_s(results: list[RungResult], tuning_s: float) -> float | None:
    """Return the time of a trial on a rung beyond its program's start and training.

    That is all of the search but those, its own start and the last program's end included. None
    where trials ran at once, of which one's waiting is another's training.
    """
    trained_s, known_s = 0.0, dict[int, float]()
    for one in sorted(results, key=lambda one: one.ended_s):
        trained_s += one.training_s - known_s.get(one.trial, 0.0) + (one.start_up_s or 0.0)
        known_s[one.trial] = one.training_s
    ordered = sorted(results, key=lambda one: one.began_s)
    alone = all(later.began_s >= one.ended_s for one, later in itertools.pairwise(ordered))
    return (tuning_s - trained_s) / len(results) if alone else None


def _own_cpu_s() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def verdicts(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return each ratio to Tune V1 by seed, and whether it reaches its bar."""
    found: dict[str, Any] = {}
    first = runs["tune_v1"]
    for who, others in runs.items():
        pairs = list(zip(others, first, strict=False))
        for what in ("tuning_s", "energy_j", "cpu_s"):
            ratios = spread([one[what] / other[what] for one, other in pairs])
            bar = BARS.get((who, what))
            if bar is not None:
                met = ratios["median"] <= bar and ratios["high"] < 1
                ratios |= {"bar": bar, "met": met if len(pairs) >= SEEDS else None}
            found[f"{who}/{what}"] = ratios
        lost = [other["accuracy"] - one["accuracy"] for one, other in pairs]
        found[f"{who}/accuracy_lost"] = {
            **spread(lost),
            "equal": abs(statistics.median(lost)) <= MOST_ACCURACY_LOST,
        }
    return found


def table(name: str, runs: dict[str, list[dict[str, Any]]], found: dict[str, Any]) -> list[str]:
    """Return the figures of a workload as lines of Markdown."""
    head = ["tuner", "tuning s", "to V1", "energy J", "to V1", "CPU s", "epochs", "accuracy",
            "probed", "known", "at once"]  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for who, each in runs.items():
        middle = {
            key: statistics.median(one[key] for one in each)
            for key in ("tuning_s", "energy_j", "cpu_s", "work_epochs", "accuracy", "at_once",
                        "epochs_probed", "known")
        }  # fmt: skip
        cells = [
            who, f"{middle['tuning_s']:.1f}", _change(found[f"{who}/tuning_s"]),
            f"{middle['energy_j']:.0f}", _change(found[f"{who}/energy_j"]),
            f"{middle['cpu_s']:.1f}", f"{middle['work_epochs']:g}", f"{middle['accuracy']:.4f}",
            f"{middle['epochs_probed']:g}", f"{middle['known']:g}", f"{middle['at_once']:.1f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return [f"{name}:", *lines]


def _change(ratio: dict[str, Any]) -> str:
    low, middle, high = ((ratio[key] - 1) * 100 for key in ("low", "median", "high"))
    verdict = {True: ", met", False: ", missed", None: ""}[ratio.get("met")]
    return f"{middle:+.0f} % ({low:+.0f} to {high:+.0f}{verdict})"


def main() -> None:
    """Run the searches, print the table and add to benchmarks/results/tuning_pipetune.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", action="append", help="of conf/workload; more than once")
    parser.add_argument("--contender", action="append", choices=list(CONTENDERS)[1:],
                        help="beside tune_v1; more than once; without, all")  # fmt: skip
    parser.add_argument("--hardware", default="this_machine", help="of conf/hardware")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=float, default=720.0, help="no seed begins later that"
                        " would end after them, by those before")  # fmt: skip
    parser.add_argument("--cuda", action="store_true", help="train on the GPU")
    parser.add_argument("--ahead", action="store_true", help="of other work of the machine; root")
    parser.add_argument("--more", action="store_true", help="seeds than an earlier run's, of the"
                        " same contenders in --output")  # fmt: skip
    parser.add_argument("--output", default="tuning_pipetune", help="name of the results")
    given = parser.parse_args()
    names = given.workload or ["lenet5_train"]
    contenders = ["tune_v1", *(given.contender or list(CONTENDERS)[1:])]
    workloads: dict[str, Any] = dict((load(given.output) or {}).get("workloads", {}))  # type: ignore[call-overload]
    with tempfile.TemporaryDirectory() as kept:
        for name in names:
            learnt, began = Path(kept, f"{name}.json"), time.perf_counter()
            if any(CONTENDERS[who].known for who in contenders):
                search(name, "pipetune", OTHER_SEED, learnt, given)
            device = "cuda" if given.cuda else "cpu"
            key = f"{name}/{device}/{len(os.sched_getaffinity(0))} CPUs"
            earlier = workloads.get(key, {}).get("searches", {}) if given.more else {}
            runs: dict[str, list[dict[str, Any]]] = {
                who: earlier.get(who, []) for who in contenders
            }
            busy: list[float] = []
            limit_s = given.seconds / len(names)
            for seed in range(1 + len(runs["tune_v1"]), given.seeds + 1):
                spent_s = time.perf_counter() - began
                if busy and spent_s + max(busy) > limit_s:
                    print(f"{name}: {seed - 1} seeds in {spent_s:.0f} s; no time for more")
                    break
                busy.append(-time.perf_counter())
                order = contenders
                for who in order[seed % len(order) :] + order[: seed % len(order)]:
                    truth = Path(kept, "truth.json")
                    truth.unlink(missing_ok=True)
                    if CONTENDERS[who].known:
                        shutil.copy(learnt, truth)
                    run = search(name, who, seed, truth, given)
                    runs[who].append({"seed": seed, "load": os.getloadavg()[0], **run})
                    print(name, seed, who, {k: round(v, 3) if isinstance(v, float) else v
                                            for k, v in run.items()}, flush=True)  # fmt: skip
                busy[-1] += time.perf_counter()
            found = verdicts(runs)
            workloads[key] = {
                "hardware": given.hardware,
                "epochs": EPOCHS,
                "ahead_of_other_work": given.ahead,
                "to_tune_v1": found,
                "searches": runs,
            }
            print("\n".join(table(name, runs, found)), flush=True)
            rule = (__doc__ or "").partition("Verdict: ")[2]
            save(given.output, {"rule": " ".join(rule.split()), "workloads": workloads})


if __name__ == "__main__":
    with supervised():
        main()
