"""Models are timed for real, for the key `models` of a hardware YAML."""

from dataclasses import replace
from pathlib import Path

import pytest
from shipped_configurations import SHIPPED
from trial_programs import workload

from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Phase
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.tuning.inference.model_times import WORKLOADS, model_times

PI: Hardware = SHIPPED.option("hardware", "raspberry_pi_3b_plus")

# Says that a batch of n samples takes 0.1 n s.
MODEL = """
import sys, trimtab_trial
batch_s = 0.1 * int(sys.argv[1].partition("=")[2])
for number in range(9):
    times = {f"batch_{one}_s": batch_s for one in range(3)}
    trimtab_trial.epoch_end(number, batches=3, served_s=3 * batch_s, **times)
"""


def test_models_are_timed_as_the_yaml_has_them(tmp_path: Path) -> None:
    of = workload(MODEL)
    model = replace(of, command=[*of.command, "--batch_size={batch_size}"])
    found = model_times([replace(model, parameters={"batch_size": 1})], tmp_path)
    assert found == [
        {"workload": "tried", "batch_size": 1, "cores": 1, "batch_s": pytest.approx(0.1)},
        {"workload": "tried", "batch_size": 16, "cores": 1, "batch_s": pytest.approx(1.6)},
    ]
    whole = checked({**vars(PI), "levels": [], "rooflines": [], "models": found}, Hardware)
    assert [one.batch_s for one in whole.models] == pytest.approx([0.1, 1.6])


def test_a_model_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"probing task models: tried: ended with .*: no data"):
        model_times([workload("raise SystemExit('no data')")], tmp_path)


def test_the_projects_models_use_a_model() -> None:
    for one in SHIPPED.options("workload", WORKLOADS):
        assert one.phase == Phase.INFERENCE
