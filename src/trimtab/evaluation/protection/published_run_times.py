"""The measured run times of SGX-OmpSs' authors, as rows beside ours, of figures 8.4 to 8.7."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.evaluation.report.tables import PUBLISHED

_FILE = Path(__file__).parents[1] / "published/heterogeneity_thesis/sgx_ompss_run_times.csv"
_POLICIES = {"bf": "breadth_first", "wf": "work_first"}
_HARDWARE = "Intel E3-1275, 4 cores of 2 threads, 64 GiB of memory; Intel SGX"
_PLACE = "run times of SGX-OmpSs' authors (github.com/isabellyrocha/sgx-ompss-apps), medians of ten"


def authors_rows(labels: dict[str, str], swept: str) -> list[dict[str, Any]]:
    """Return a row for each set-up in which the authors varied `swept`.

    `labels` maps the authors' names of applications to labels; other applications are left out.
    `swept` is "size", "block", "threads" or "scheduler". A row has the columns of published rows,
    and variant, workers, size, block, schedule_policy and run_s.
    """
    table = _table()
    chosen = table[(table["swept"] == swept) & table["application"].isin(list(labels))]
    rows: list[dict[str, Any]] = chosen.to_dict("records")  # type: ignore[assignment]
    return [
        {
            "name": labels[row["application"]],
            "hardware": _HARDWARE,
            "variant": row["variant"],
            "enclave": "none" if row["variant"] == "ompss" else "sgx",
            "workers": int(row["workers"]),
            "size": int(row["size"]),
            "block": int(row["block"]),
            "schedule_policy": _POLICIES[row["policy"]],
            "run_s": float(row["median_s"]),
            "source": PUBLISHED,
            "published_in": _PLACE,
        }
        for row in rows
    ]


@cache
def _table() -> pd.DataFrame:
    table = pd.read_csv(_FILE, comment="#")
    runs = [name for name in table.columns if name.startswith("run_")]
    return table.assign(median_s=table[runs].median(axis=1))
