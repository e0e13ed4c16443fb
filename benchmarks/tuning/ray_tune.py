"""Tune V1 and V2 of the thesis (section 6.4.2) on real Ray Tune, beside this project's.

Both train the same programs as the same processes, from the same spaces, by HyperBand with the same
number of configurations, most epochs and reduction. Ray's trials are Trainables, paused and resumed
by their checkpoints; each takes as many of Ray's CPUs as it has cores. Ray's own start is left out
of the times. As its scheduler rounds brackets otherwise, the training work (epochs over all data,
CPU time) is given beside the time.

    python -m venv build/ray && build/ray/bin/pip install -r benchmarks/tuning/requirements-ray.txt
    PYTHONPATH=src:.venv/lib/python3.11/site-packages:benchmarks \
        build/ray/bin/python benchmarks/tuning/ray_tune.py --workload lenet5_train
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import ray
from common import save, spread
from ray import tune as ray_tune
from ray.tune.schedulers import HyperBandScheduler
from ray.tune.search.basic_variant import BasicVariantGenerator

from trimtab.config.compose import Configurations
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import EpochRange, Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.config.parameter import Parameter
from trimtab.profiling.profile import model_of
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.scoring.score import Failure, Score
from trimtab.tuning.trials.events import EpochEnd, TrialEnded
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.tune import Request, tune

REDUCTION = 3
V1 = (Kind.MODEL, Kind.TRAINING)
V2 = (*V1, Kind.SYSTEM)


def ray_space(tuning: Tuning, kinds: tuple[Kind, ...]) -> dict[str, Any]:
    """Return Ray's space of the parameters of some kinds, by full names."""
    return {
        f"{kind}.{name}": _domain(parameter)
        for kind in kinds
        for name, parameter in tuning.of_kind(kind).items()
    }


def _domain(parameter: Parameter) -> Any:
    if parameter.choices is not None:
        return ray_tune.choice(list(parameter.choices))
    assert parameter.low is not None and parameter.high is not None
    if parameter.whole:
        draw = ray_tune.lograndint if parameter.log else ray_tune.randint
        return draw(int(parameter.low), int(parameter.high) + 1)
    draw = ray_tune.loguniform if parameter.log else ray_tune.uniform
    return draw(parameter.low, parameter.high)


@dataclass(frozen=True)
class Result:
    """What a search came to: times in s, work in epochs over all data, the best configuration's
    accuracy and training time, and how many trials failed."""

    tuning_s: float
    work_epochs: float
    cpu_s: float
    accuracy: float
    training_s: float
    failed: int


class RayTrial(ray_tune.Trainable):  # type: ignore[misc]
    """A trial of the workload: an epoch a step."""

    def setup(
        self, config: dict[str, Any], workload: Workload, objective: Objective, record: Path
    ) -> None:
        """Begin without a process; `record` is given a line of JSON an epoch."""
        assert workload.tuning is not None
        self._workload, self._tuning, self._record = workload, workload.tuning, record
        self._score = Score(objective)
        self._complete = self._tuning.completed(config)
        self._folder = Path(tempfile.mkdtemp(prefix="ray_trial_")) / "trial"
        self._process: TrialProcess | None = None
        self._training_s, self._resumes = 0.0, False

    def step(self) -> dict[str, Any]:
        """Train one epoch; raises RuntimeError where the program fails."""
        settings = self._settings()
        if self._process is None:
            parameters = {
                name.partition(".")[2]: value
                for name, value in self._complete.items()
                if name.partition(".")[0] in V1
            }
            parameters["epochs"] = self._tuning.epochs.most
            self._process = TrialProcess.start(
                self._workload, parameters, self._folder, settings, resume=self._resumes
            )
        else:
            self._process.answer(settings)
        event = self._process.next_event()
        if not isinstance(event, EpochEnd):
            raise RuntimeError(f"the trial ended: {event}")
        self._training_s += event.wall_s
        metrics = {**event.metrics, "training_s": self._training_s}
        metrics["accuracy"] = metrics[self._tuning.metric]
        score = self._score.of(metrics)
        with self._record.open("a") as file:
            line = {"epoch": event.epoch, "cpu_s": event.cpu_s, "wall_s": event.wall_s}
            file.write(json.dumps({**line, "accuracy": metrics["accuracy"]}) + "\n")
        return {
            "score": -1e9 if isinstance(score, Failure) else score,
            "accuracy": metrics["accuracy"],
            "training_s": self._training_s,
            "done": event.epoch + 1 >= self._tuning.epochs.most,
        }

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """End the process in order and keep its folder."""
        if self._process is not None:
            self._process.stop()
            while not isinstance(self._process.next_event(), TrialEnded):
                pass
            self._process, self._resumes = None, True
        shutil.copytree(self._folder, Path(checkpoint_dir) / "trial")
        (Path(checkpoint_dir) / "training_s").write_text(str(self._training_s))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        """Take another trial's folder, to go on behind its last epoch."""
        shutil.copytree(Path(checkpoint_dir) / "trial", self._folder, dirs_exist_ok=True)
        self._training_s = float((Path(checkpoint_dir) / "training_s").read_text())
        self._resumes = True

    def _settings(self) -> SystemSettings:
        system = {name: v for name, v in self._complete.items() if name.startswith(Kind.SYSTEM)}
        settings = SystemSettings.of(system, sorted(os.sched_getaffinity(0)))
        # Ray pins nothing: what a trial has of CPUs is its threads, and Ray's count of them.
        return replace(settings, cpus=None)

    def cleanup(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
        shutil.rmtree(self._folder.parent, ignore_errors=True)


def by_ray(workload: Workload, objective: Objective, kinds: tuple[Kind, ...], seed: int) -> Result:
    """Return what one search of Ray's came to; Ray is up."""
    assert workload.tuning is not None
    tuning = workload.tuning
    cpus = len(os.sched_getaffinity(0))
    default = tuning.completed({}).get("system.cores", cpus)
    with tempfile.TemporaryDirectory(prefix="ray_tune_") as folder:
        record = Path(folder) / "epochs.jsonl"
        trainable = ray_tune.with_parameters(
            RayTrial, workload=workload, objective=objective, record=record
        )
        tuner = ray_tune.Tuner(
            ray_tune.with_resources(
                trainable,
                lambda found: ray_tune.PlacementGroupFactory(
                    [{"CPU": min(found.get("system.cores", default), cpus)}]
                ),
            ),
            param_space=ray_space(tuning, kinds),
            tune_config=ray_tune.TuneConfig(
                metric="score",
                mode="max",
                num_samples=sum(one[0].trials for one in brackets_of(_levels(tuning), REDUCTION)),
                scheduler=HyperBandScheduler(max_t=tuning.epochs.most, reduction_factor=REDUCTION),
                search_alg=BasicVariantGenerator(random_state=seed),
            ),
            run_config=ray_tune.RunConfig(storage_path=f"{folder}/results", verbose=0),
        )
        began = time.monotonic()
        grid = tuner.fit()
        tuning_s = time.monotonic() - began
        epochs = [json.loads(line) for line in record.read_text().splitlines()]
        best = max(
            (one.metrics for one in grid if one.metrics and "score" in one.metrics),
            key=lambda metrics: (metrics["training_iteration"], metrics["score"]),
        )
    return Result(
        tuning_s,
        float(len(epochs)),
        sum(one["cpu_s"] for one in epochs),
        best["accuracy"],
        best["training_s"],
        len(grid.errors),
    )


def _levels(tuning: Tuning) -> int:
    return Fidelity(BudgetKind.EPOCHS, tuning.epochs.least, tuning.epochs.most).levels


def by_trimtab(request: Request, seed: int) -> Result:
    """Return what one search of this project's came to, without what it learned before."""
    with tempfile.TemporaryDirectory(prefix="trimtab_tune_") as folder:
        place = Path(folder)
        began = time.monotonic()
        tune(request, [seed], place, place / "ground_truth.json")
        tuning_s = time.monotonic() - began
        rows = pd.read_parquet(place / "trials.parquet")
    good = rows[rows["score"].notna()]
    before = rows.groupby("trial")["epochs"].shift(fill_value=0)
    most = good[good["epochs"] == good["epochs"].max()]
    best = most.loc[most["score"].idxmax()]
    return Result(
        tuning_s,
        float((rows["epochs"] - before).sum()),
        float(rows["cpu_s"].sum()) if "cpu_s" in rows else float("nan"),
        float(best["accuracy"]),
        float(best["training_s"]),
        int(rows["score"].isna().sum()),
    )


def main() -> None:
    """Run all searches, those of a seed beside each other, and save what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", nargs="+", required=True, help="names of conf/workload")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, nargs=2, help="least and most, for the workload's")
    given = parser.parse_args()
    os.environ["RAY_CHDIR_TO_TRIAL_DIR"] = "0"  # the workload's paths are of this folder
    ray.init(num_cpus=len(os.sched_getaffinity(0)), include_dashboard=False, log_to_driver=False)
    figures: dict[str, object] = {}
    for name in given.workload:
        config = Configurations(Path("conf"))
        workload: Workload = config.option("workload", name)
        assert workload.tuning is not None
        if given.epochs:
            epochs = EpochRange(least=given.epochs[0], most=given.epochs[1])
            workload = replace(workload, tuning=replace(workload.tuning, epochs=epochs))
        hardware = model_of(config.option("hardware", "this_machine"))
        objectives = {
            one: config.option("objective", one) for one in ("accuracy", "accuracy_by_duration")
        }
        found: dict[str, list[Result]] = {}
        for seed in range(1, given.seeds + 1):
            for system, kinds, objective in (
                ("tune_v1", V1, "accuracy"),
                ("tune_v2", V2, "accuracy_by_duration"),
            ):
                request = Request(
                    workload, config.option("tuner", system), objectives[objective], hardware
                )
                for who, result in (
                    (f"ray_{system}", by_ray(workload, objectives[objective], kinds, seed)),
                    (system, by_trimtab(request, seed)),
                ):
                    found.setdefault(who, []).append(result)
                    print(name, seed, who, result, flush=True)
        figures[name] = {
            who: {
                field.name: spread([getattr(one, field.name) for one in results])
                for field in fields(Result)
            }
            for who, results in found.items()
        }
        figures[f"{name}_epochs"] = [workload.tuning.epochs.least, workload.tuning.epochs.most]
    ray.shutdown()
    save("tuning_ray", {"ray": ray.__version__, "reduction": REDUCTION, "workloads": figures})


if __name__ == "__main__":
    main()
