"""How well the cost model of enclaves tells run times that were measured.

Fits it to the run times of SGX-OmpSs' authors, then five times more with one application left out
each, and sets what it says of more workers, by formula and by simulation of the task graphs, beside
what was measured and what the thesis states.
Everything here is calculated from published run times; nothing is measured on this machine.
"""

from pathlib import Path

import pandas as pd
from common import save
from sgx_ompss.applications import APPLICATIONS
from sgx_ompss.check import (
    PUBLISHED_GAINS,
    left_out_errors,
    relative_errors,
    worker_gains_pct,
)
from sgx_ompss.fit import FittedConstants, fit
from sgx_ompss.measured import VARIANTS, read_measured
from sgx_ompss.simulated import simulated_gains_pct

from trimtab.config import Configurations
from trimtab.secure_tasks.cost import Bound, EnclaveTask, protected_s

MOST_ERROR, MOST_POINTS = 0.20, 10
CONF = Path(__file__).parents[1] / "conf"
# Four of it together do not fit the page cache of the first generation of SGX.
EXAMPLE = EnclaveTask(work_s=1e-2, in_bytes=2**20, out_bytes=2**20, working_set_bytes=32 * 2**20)
EXAMPLE_WORKERS = (1, 4)


def summary(errors: "pd.Series[float]") -> dict[str, float]:
    low, middle, high = errors.quantile([0.1, 0.5, 0.9])
    return {"median": middle, "tenth": low, "nine_tenths": high, "runs": len(errors)}


def fitted_errors(model: FittedConstants, measured: pd.DataFrame) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for name in APPLICATIONS:
        for variant in VARIANTS:
            rows = (measured["application"] == name) & (measured["variant"] == variant)
            errors = relative_errors(model, measured[rows])
            found.setdefault(name, {})[variant] = summary(errors)
    return found


def gains(table: pd.DataFrame) -> list[dict[str, object]]:
    """Each published gain beside that of both protected variants, by formula and simulated."""
    rows = []
    for gain in PUBLISHED_GAINS:
        of_it = (table["application"] == gain.application) & (table["workers"] == gain.workers)
        for row in table[of_it].itertuples():
            rows.append({
                "application": gain.application, "variant": row.variant, "workers": gain.workers,
                "published_pct": gain.published_pct, "measured_pct": row.measured_pct,
                "modelled_pct": row.modelled_pct, "simulated_pct": row.simulated_pct,
                "within_10_points": is_near(row.modelled_pct, gain.published_pct),
                "simulated_within_10_points": is_near(row.simulated_pct, gain.published_pct),
            })  # fmt: skip
    return rows


def is_near(found_pct: float, published_pct: float) -> bool:
    return bool(abs(found_pct - published_pct) <= MOST_POINTS)


def best_workers(table: pd.DataFrame, column: str) -> dict[str, int]:
    """The number of workers at which the dot product is fastest by `column`, by variant."""
    dot = table[table["application"] == "dot_product"]
    best = {}
    for variant, rows in dot.groupby("variant"):
        fastest = rows.loc[rows[column].idxmin()]
        best[str(variant)] = int(fastest["workers"]) if fastest[column] < 0 else 1
    return best


def example_times_s() -> dict[str, dict[str, dict[str, float]]]:
    """What the example takes in every configured enclave, by number of workers and bound."""
    configurations = Configurations(CONF)
    return {
        path.stem: {
            str(workers): {
                bound.value: protected_s(
                    EXAMPLE, workers, configurations.option("enclave", path.stem), bound
                )
                for bound in Bound
            }
            for workers in EXAMPLE_WORKERS
        }
        for path in sorted((CONF / "enclave").glob("*.yaml"))
    }


def main() -> None:
    measured = read_measured()
    model = fit(measured)
    left_out = left_out_errors(measured)
    together = pd.concat(left_out.values())
    without_cholesky = pd.concat([e for name, e in left_out.items() if name != "cholesky"])
    simulated = simulated_gains_pct(model, measured)
    keys = ["application", "variant", "workers"]
    of_workers = worker_gains_pct(model, measured).merge(
        simulated[[*keys, "simulated_pct"]], on=keys, validate="one_to_one"
    )
    save(
        "enclave_model",
        {
            "source": "modelled, from run times that the authors of SGX-OmpSs measured",
            "set_ups": len(measured),
            "constants": model.as_dict(),
            "fitted": summary(relative_errors(model, measured)),
            "fitted_by_application": fitted_errors(model, measured),
            "left_out": {
                "all": summary(together),
                "all_but_cholesky": summary(without_cholesky),
                "by_application": {name: summary(errors) for name, errors in left_out.items()},
                "bar_median": MOST_ERROR,
                "bar_met": bool(together.median() <= MOST_ERROR),
            },
            "published_gains": gains(of_workers),
            "worker_gains": of_workers.to_dict("records"),
            "dot_product_best_workers": best_workers(of_workers, "modelled_pct"),
            "dot_product_best_workers_simulated": best_workers(of_workers, "simulated_pct"),
            "example_task": vars(EXAMPLE),
            "example_times_s": example_times_s(),
        },
    )


if __name__ == "__main__":
    main()
