import shutil
from pathlib import Path

import pytest
from config_files import PROJECT, workload, write


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A folder of configurations with the project's own files and three small workloads."""
    folder = tmp_path / "conf"
    shutil.copytree(PROJECT / "conf", folder, ignore=shutil.ignore_patterns("workload"))
    for name in ("lenet5_train", "other"):
        write(folder, f"workload/{name}.yaml", workload(name))
    tuned = {"epochs": {"least": 1, "most": 3},
             "training": {"batch_size": {"choices": [16, 32], "default": 16}}}  # fmt: skip
    write(folder, "workload/lenet5_short.yaml", workload("lenet5_short", tuning=tuned))
    return folder
