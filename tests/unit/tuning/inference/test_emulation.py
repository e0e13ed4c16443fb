"""What a device's limits are turned into, and that a share of the time is what a program gets."""

import os
import signal
from pathlib import Path

import pytest
from trial_programs import LIMIT_S, epoch_of, is_gone, start, workload

from trimtab.config import Configurations
from trimtab.errors import UserError
from trimtab.tuning.inference.emulation import InferenceConfiguration, settings_of, speed_at
from trimtab.tuning.trials.settings import SystemSettings

CONF = Path(__file__).resolve().parents[4] / "conf"
CPU = min(os.sched_getaffinity(0))

# Counts how many rounds of work it does in 0.3 s of its CPU time, and how long that took.
BUSY = """
import time
import trimtab_trial
for epoch in range(100):
    began, spent = time.monotonic(), time.process_time()
    while time.process_time() - spent < 0.3:
        pass
    trimtab_trial.epoch_end(epoch, took_s=time.monotonic() - began)
"""


def test_limits_are_those_of_the_configuration() -> None:
    configuration = InferenceConfiguration(8, 2, memory_gib=1.5, frequency_mhz=1200)
    settings = settings_of(configuration, cpus=[4, 7, 9], cpu_share=0.5)
    assert settings.cpus == (4, 7) and settings.threads == 2
    assert settings.memory_bytes == 3 << 29 and settings.frequency_mhz == 1200
    assert settings.environment["OMP_PLACES"] == "{4},{7}"
    assert "OMP_PLACES" not in settings_of(InferenceConfiguration(8, 1), cpus=[4]).environment


def test_more_cores_than_there_are_is_an_error() -> None:
    with pytest.raises(UserError, match="this machine has 1"):
        settings_of(InferenceConfiguration(1, 2), cpus=[0])


def test_speeds_between_two_levels() -> None:
    device = Configurations(CONF).option("hardware", "raspberry_pi_3b_plus")
    assert speed_at(device, 1400) == 1 and speed_at(device, 600) == 0.4286
    assert speed_at(device, 1000) == pytest.approx((1 + 0.4286) / 2)
    with pytest.raises(UserError, match=r"0\.6 to 1\.4 GHz"):
        speed_at(device, 1500)
    with pytest.raises(UserError, match="none"):
        speed_at(Configurations(CONF).option("hardware", "armv7_4gb"), 1000)


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_program_runs_for_its_share_of_the_time(tmp_path: Path, share: float) -> None:
    settings = SystemSettings(cpus=(CPU,), cpu_share=share)
    with start(workload(BUSY), tmp_path, settings=settings) as trial:
        epoch_of(trial)
        trial.answer(SystemSettings())
        epoch = epoch_of(trial)
        assert epoch.not_set == {}
        # Other work may make it longer, and shorter where what stops the program comes late.
        assert epoch.metrics["took_s"] > 0.3 * (1 + 1 / share) / 2
        trial.answer(SystemSettings(cpu_share=1.0))
        epoch_of(trial)


def test_a_stopped_program_is_killed_with_its_trial(tmp_path: Path) -> None:
    settings = SystemSettings(cpus=(CPU,), cpu_share=0.01)
    with start(workload(BUSY), tmp_path, settings=settings) as trial:
        pid = trial.pid
        os.kill(pid, signal.SIGSTOP)
    assert is_gone(pid, LIMIT_S)


def test_a_share_that_is_none_is_said(tmp_path: Path) -> None:
    with start(workload(BUSY), tmp_path, settings=SystemSettings(cpu_share=1.5)) as trial:
        assert "above 0 and up to 1" in trial.change.not_set["cpu_share"]
