"""What a device's limits are turned into, and that a share of the time is what a program gets."""

import json
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shipped_configurations import SHIPPED
from trial_programs import LIMIT_S, epoch_of, is_gone, start, workload

from trimtab.config.groups.hardware import Hardware, Roofline
from trimtab.errors import UserError
from trimtab.files import write_once
from trimtab.tuning.inference import emulation
from trimtab.tuning.inference.emulation import (
    Device,
    InferenceConfiguration,
    device_of,
    level_at,
    settings_of,
)
from trimtab.tuning.trials.settings import SystemSettings

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


PI = SHIPPED.option("hardware", "raspberry_pi_3b_plus")


def host(gflop_per_s: float = 4.5 * 9, gb_per_s: float = 1.1 * 4, **keys: Any) -> Hardware:
    """A host that does nine times the arithmetic of a Raspberry Pi, and four times the memory."""
    roofline = Roofline(1, gflop_per_s, gb_per_s, 40.0)
    return replace(PI, name="host", rooflines=[roofline], **keys)


def test_speeds_and_powers_between_two_levels() -> None:
    assert level_at(PI, 1400).speed == 1 and level_at(PI, 600).speed == 0.4286
    assert level_at(PI, 1000).speed == pytest.approx((1 + 0.4286) / 2)
    assert level_at(PI, 1000).busy_w == pytest.approx((3.6 + 6) / 2)
    with pytest.raises(UserError, match=r"0\.6 to 1\.4 GHz"):
        level_at(PI, 1500)
    with pytest.raises(UserError, match="none"):
        level_at(SHIPPED.option("hardware", "armv7_4gb"), 1000)


def test_a_device_is_a_share_of_the_time_its_memory_and_a_factor() -> None:
    # Six times as slow: four times by standing still, and 1.5 times on paper.
    found = Device(PI, host()).emulation(InferenceConfiguration(8, 1))
    assert found.scale.slower == pytest.approx(6.0)
    assert found.cpu_share == 0.25 and found.factor == pytest.approx(1.5)
    assert found.configuration == InferenceConfiguration(8, 1, memory_gib=1)
    assert found.power.name == PI.name and found.power.busy_w == 6
    # Twice as slow: all of it by standing still.
    found = Device(PI, host(4.5 * 2, 1.1 * 2)).emulation(InferenceConfiguration(8, 1, 0.5))
    assert found.cpu_share == pytest.approx(0.5) and found.factor == pytest.approx(1.0)
    assert found.configuration.memory_gib == 0.5
    # Faster than its host: on paper.
    found = Device(PI, host(4.5 / 2, 1.1 / 2)).emulation(InferenceConfiguration(8, 1, 64))
    assert found.cpu_share == 1 and found.factor == pytest.approx(0.5)
    assert found.configuration.memory_gib == 1  # it has no more


def test_a_frequency_is_the_devices_and_not_the_hosts() -> None:
    found = Device(PI, host()).emulation(InferenceConfiguration(8, 1, frequency_mhz=600))
    assert found.configuration.frequency_mhz is None
    assert found.scale.slower == pytest.approx(6.0 / 0.4286) and found.power.busy_w == 3.6
    assert found.cpu_share * found.scale.slower == pytest.approx(found.factor)


def test_what_a_device_has_not_is_an_error() -> None:
    with pytest.raises(UserError, match="raspberry_pi_3b_plus has 4"):
        Device(PI, host()).emulation(InferenceConfiguration(1, 5))
    with pytest.raises(UserError, match=r"hardware other: no rooflines.*trimtab advanced probe"):
        none = replace(PI, name="other", rooflines=[])
        Device(none, host()).emulation(InferenceConfiguration(1, 1))


def test_the_host_itself_is_not_emulated() -> None:
    assert device_of(None, PI) is None and device_of(PI, PI) is None
    assert device_of(PI, host()) == Device(PI, host())


def test_a_host_without_rooflines_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Device(PI, replace(host(), rooflines=[]))
    measured = [{"cores": 1, "gflop_per_s": 9.0, "gb_per_s": 2.2, "call_us": 4.0}]
    monkeypatch.setattr(emulation, "rooflines", lambda cpus: measured)
    found = of.with_host_measured(tmp_path / "new" / "host.json", [0])
    assert found.host.rooflines == [Roofline(1, 9.0, 2.2, 4.0)] and found.hardware == PI
    monkeypatch.setattr(emulation, "rooflines", lambda cpus: pytest.fail("measured again"))
    assert of.with_host_measured(tmp_path / "new" / "host.json", [0]) == found
    assert Device(PI, host()).with_host_measured(tmp_path / "none", [0]).host == host()
    assert not (tmp_path / "none").exists()


def test_of_machines_that_measure_a_host_at_once_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, kept = Device(PI, replace(host(), rooflines=[])), tmp_path / "host.json"
    found, others = list[Device](), list[threading.Thread]()

    def measured(cpus: Sequence[int]) -> list[dict[str, float]]:
        if len(others) < 3:  # while the first one measures
            others.append(threading.Thread(target=look))
            others[-1].start()
        return [{"cores": 1, "gflop_per_s": len(others), "gb_per_s": 2.2, "call_us": 4.0}]

    def look() -> None:
        found.append(of.with_host_measured(kept, [0]))

    monkeypatch.setattr(emulation, "rooflines", measured)
    look()
    for other in others:
        other.join()
    assert len(others) == 1 and found[0] == found[1]


def test_of_machines_without_common_locks_the_first_to_have_measured_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, theirs = tmp_path / "host.json", {"cores": 1, "gb_per_s": 2.2, "call_us": 4.0}

    def measured(cpus: Sequence[int]) -> list[dict[str, float]]:
        write_once(kept, json.dumps([{**theirs, "gflop_per_s": 7.0}]))
        return [{**theirs, "gflop_per_s": 9.0}]

    monkeypatch.setattr(emulation, "rooflines", measured)
    found = Device(PI, replace(host(), rooflines=[])).with_host_measured(kept, [0])
    assert [one.gflop_per_s for one in found.host.rooflines] == [7.0]
    assert {path.name for path in tmp_path.iterdir()} == {"host.json", "host.json.lock"}


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_program_runs_for_its_share_of_the_time(tmp_path: Path, share: float) -> None:
    settings = SystemSettings(cpus=(CPU,), cpu_share=share)
    with start(workload(BUSY), tmp_path, settings=settings) as trial:
        epoch_of(trial)
        trial.answer(SystemSettings())
        epoch = epoch_of(trial)
        assert epoch.not_set == {}
        # Other work may make it longer, and shorter where what stops the program comes late.
        assert epoch.metrics["took_s"] > 0.3 * (3 + 1 / share) / 4
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
