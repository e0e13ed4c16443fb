"""The errors of HEATS' predictions, on the jobs that ran.

Rocha's thesis, section 3.3.3: the real run time and energy of a finished task, beside those that
the model predicted.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from trimtab.policies.facts import PolicyInputs
from trimtab.policies.heats.predictions import PredictionModel
from trimtab.records.figures import PredictionErrors


def prediction_errors(
    model: PredictionModel, facts: PolicyInputs, finished: pd.DataFrame
) -> Iterator[PredictionErrors]:
    """Yield the errors for each class of jobs and type of node.

    `finished` are tables.SCHEDULED. Jobs that moved or were evicted are left out: their cost is
    spread over several nodes. In an enclave, the known slowdown is part of the prediction.
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
        jobs.loc[rows, "predicted_s"] = longer * predicted_s
        jobs.loc[rows, "predicted_j"] = longer * predicted_j
    for (name, node_type), of_type in jobs.groupby(["job_class", "node_type"], sort=True):
        run_time_s, energy_j = of_type["run_time_s"], of_type["energy_j"]
        predicted_w = of_type["predicted_j"] / of_type["predicted_s"]
        yield PredictionErrors(
            job_class=str(name),
            node_type=str(node_type),
            jobs=len(of_type),
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
