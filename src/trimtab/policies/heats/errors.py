"""The errors of HEATS' predictions, on the jobs that ran and on real probing runs.

Rocha's thesis, section 3.3.3: the real run time and energy of a finished task, beside those that
the model predicted.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from trimtab.policies.facts import Asked, PolicyInputs, ProbeRun
from trimtab.policies.heats.predictions import (
    PredictionModel,
    by_node_type,
    counted,
    enough,
    fit,
)
from trimtab.records.figures import PredictedRuns, PredictionErrors

_FOLDS = 10


def prediction_errors(
    model: PredictionModel, facts: PolicyInputs, finished: pd.DataFrame
) -> Iterator[PredictionErrors]:
    """Yield the errors for each class of jobs and type of node.

    `finished` are tables.SCHEDULED. Jobs that moved or were evicted are left out: their cost is
    spread over several nodes. In an enclave, the known slowdown is part of the prediction. A cold
    start's energy is left out as its time is, at the power of the work.
    """
    jobs = finished[(finished["evictions"] == 0) & (finished["migrations"] == 0)].copy()
    jobs["run_time_s"] = jobs["execution_s"] - jobs["set_up_s"]
    jobs = jobs[(jobs["run_time_s"] > 0) & (jobs["energy_j"] > 0)]
    names = np.array([node_type.name for node_type in facts.cluster.node_types])
    jobs["node_type"] = names[facts.cluster.type_of_node[jobs["node"].to_numpy(np.int64)]]
    classes = {
        job_class.name: (job_class, asked)
        for job_class, asked in zip(facts.job_classes, facts.asked, strict=True)
    }
    jobs["predicted_s"] = jobs["predicted_j"] = 0.0
    known = jobs.groupby(["job_class", "node_type", "level"])
    for rows in known.groups.values():
        name, node_type, level = jobs.loc[rows[0], ["job_class", "node_type", "level"]]
        job_class, asked = classes[name]
        longer = job_class.protected(node_type)
        predicted_s, predicted_j = model.predict(node_type, asked, int(level))
        work_share = jobs["run_time_s"] / (jobs["run_time_s"] + job_class.cold_start_s)
        jobs.loc[rows, "energy_j"] *= work_share[rows]
        jobs.loc[rows, "predicted_s"] = longer * predicted_s
        jobs.loc[rows, "predicted_j"] = longer * predicted_j
    yield from _errors(PredictedRuns.JOBS, jobs.rename(columns={"job_class": "task"}))


def probing_errors(
    probes: Sequence[ProbeRun], *, regressor: str, features: Sequence[str]
) -> Iterator[PredictionErrors]:
    """Yield the errors for each real probing task and type of node, by tenfold cross-validation.

    Each tenth of a type's runs is predicted from the others; `regressor` and `features` as in
    predictions.fit. Types with too few runs are left out.
    """
    rows: list[dict[str, Any]] = []
    for node_type, observed in by_node_type(probe for probe in probes if probe.task).items():
        runs = counted(observed, features)
        for fold in range(_FOLDS):
            others = [run for at, run in enumerate(runs) if at % _FOLDS != fold]
            if not enough(others, features):
                continue
            model = fit({node_type: others}, regressor=regressor, features=features)
            for run in runs[fold::_FOLDS]:
                asked = Asked(run.cores, run.memory_gib, 1.0, run.gpus)
                predicted_s, predicted_j = model.predict(node_type, asked, run.level)
                rows.append(
                    {
                        "task": run.task,
                        "node_type": node_type,
                        "run_time_s": run.wall_s,
                        "energy_j": run.energy_j,
                        "predicted_s": predicted_s,
                        "predicted_j": predicted_j,
                    }
                )
    if rows:
        yield from _errors(PredictedRuns.PROBES, pd.DataFrame(rows))


def _errors(of: PredictedRuns, runs: pd.DataFrame) -> Iterator[PredictionErrors]:
    for (name, node_type), of_type in runs.groupby(["task", "node_type"], sort=True):
        run_time_s, energy_j = of_type["run_time_s"], of_type["energy_j"]
        predicted_w = of_type["predicted_j"] / of_type["predicted_s"]
        yield PredictionErrors(
            of=of,
            task=str(name),
            node_type=str(node_type),
            runs=len(of_type),
            run_time_s=float(run_time_s.mean()),
            energy_j=float(energy_j.mean()),
            power_w=float((energy_j / run_time_s).mean()),
            run_time_error_pct=mean_error_pct(of_type["predicted_s"], run_time_s),
            energy_error_pct=mean_error_pct(of_type["predicted_j"], energy_j),
            power_error_pct=mean_error_pct(predicted_w, energy_j / run_time_s),
        )


def mean_error_pct(predicted: "pd.Series[float]", actual: "pd.Series[float]") -> float:
    """Return the mean of the errors relative to `actual`, without sign, in per cent."""
    return float(100.0 * ((predicted - actual).abs() / actual).mean())
