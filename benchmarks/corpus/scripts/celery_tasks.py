"""Tasks of a Celery worker whose broker is a folder; with a number, that many are sent to it."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from celery import Celery, group

folder = Path(tempfile.gettempdir(), "corpus-celery")
for name in ("queue", "control", "results"):
    Path(folder, name).mkdir(parents=True, exist_ok=True)
app = Celery("celery_tasks", broker="filesystem://", backend=f"file://{folder}/results")
app.conf.broker_transport_options = {
    "data_folder_in": f"{folder}/queue",
    "data_folder_out": f"{folder}/queue",
    "control_folder": f"{folder}/control",
}


@app.task
def norm(seed: int) -> float:
    """The norm of a random matrix."""
    return round(float(np.linalg.norm(np.random.default_rng(seed).random((20, 20)), 2)), 6)


if __name__ == "__main__":
    print(group(norm.s(seed) for seed in range(int(sys.argv[1])))().get(timeout=30))
