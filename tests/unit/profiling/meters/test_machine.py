"""Which meters a machine has, and what they give a run and a schedule together."""

import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from trimtab.profiling.meters import rapl
from trimtab.profiling.meters.active_energy import ActiveEnergyMeter
from trimtab.profiling.meters.base import EnergyDomain, EnergySource, IntervalUse, Meter, Share
from trimtab.profiling.meters.energy import RunEnergy
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import MachineMeters, machine_meters
from trimtab.profiling.meters.modelled import PowerModel
from trimtab.profiling.meters.nvml import Nvml
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel

HARDWARE = HardwareModel("m", 8, 16.0, 80.0, 0.4, 32.0, 0.1, "a test")
BOARD = HardwareModel("made_up_board", 4, 1.0, 9.0, 0.1, 8.0, 0.3, "a test")


class BoardMeter(Meter):
    """The whole of a meter that joins: one counter of processors and memory, by time."""

    name = "board"
    parts = frozenset({EnergyDomain.PROCESSORS, EnergyDomain.MEMORY})
    source = EnergySource.MEASURED
    method = "board"
    detail = "board rail 0"
    update_period_s = 0.5

    def __init__(self) -> None:
        self.counted_j = 0.0

    @classmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        return cls() if hardware.name == "made_up_board" else None

    def read_j(self) -> float:
        self.counted_j += 10.0
        return self.counted_j

    def share(self, counted_j: float, use: IntervalUse) -> Share:
        active_j = counted_j - 2.0 * use.wall_s
        return Share(counted_j, active_j, 1.1 * counted_j, active_j)


class MemoryMeter(BoardMeter, Meter):  # named again: only those of `Meter` itself are asked
    """A meter of memory alone, which the power model's joules hold already."""

    name = method = "memory rail"
    parts = frozenset({EnergyDomain.MEMORY})

    @classmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        return cls() if hardware.name == "memory_rail" else None


class Boards(Gpus):
    """GPUs with a counter of the test's."""

    def __init__(self, boards: int, counted_j: float | None) -> None:
        self._devices = [object()] * boards
        self.missing = "" if counted_j is not None else "no energy counter"
        self.counted_j = counted_j

    def energy_j(self) -> float:
        assert self.counted_j is not None
        return self.counted_j


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of RAPL's with a package and its memory, in the place of this machine's."""
    for folder, name in {"intel-rapl:0": "package-0", "intel-rapl:0:0": "dram"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "name").write_text(f"{name}\n")
        (tmp_path / folder / "energy_uj").write_text("0\n")
        (tmp_path / folder / "max_energy_range_uj").write_text(f"{10**12}\n")
    monkeypatch.setattr(rapl, "POWERCAP", tmp_path)
    return tmp_path


@pytest.fixture
def no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rapl, "POWERCAP", tmp_path / "none")


def test_a_board_joins_by_being_one_class(no_packages: None) -> None:
    meters = machine_meters(BOARD)
    assert [type(meter) for meter in meters.meters] == [BoardMeter]
    run = RunEnergy(meters)  # reads 10 J, and each reading 10 more
    run.read(wall_s=0.0, cpu_s=0.0, resident_byte_s=0.0)
    start = run.read(wall_s=2.0, cpu_s=1.0, resident_byte_s=0.0)
    end = run.read(wall_s=4.0, cpu_s=2.0, resident_byte_s=0.0)
    energy = run.of_window({key: end[key] - start[key] for key in end}, 2.0)
    assert (energy.energy_source, energy.energy_method) == ("measured", "board")
    assert energy.energy_j == pytest.approx(10.0)
    edge_j = 10.0 / 2.0 * 0.5
    assert energy.energy_low_j == pytest.approx(10.0 - 2 * 2.0 - edge_j)
    assert energy.energy_high_j == pytest.approx(11.0 + edge_j)

    schedule = ActiveEnergyMeter(BOARD)
    assert schedule.method == "measured, board rail 0"
    assert schedule.since(schedule.read(5.0), 8.0, cpu_s=1.0) == pytest.approx(10.0 - 2 * 3.0)


@pytest.mark.parametrize(
    ("hardware", "gpus", "source", "method"),
    [
        (HARDWARE, None, "modelled", "power model"),
        (HARDWARE, Boards(0, None), "modelled", "power model"),
        (HARDWARE, Boards(2, 0.0), "modelled", "power model, nvml"),
        (HARDWARE, Boards(2, None), "modelled", "power model, GPU not metered"),
        (NO_POWER_MODEL, Boards(2, 0.0), "unknown", "no power model, nvml"),
        (NO_POWER_MODEL, None, "unknown", "no power model"),
    ],
)
def test_without_rapl(
    no_packages: None, hardware: HardwareModel, gpus: Gpus | None, source: str, method: str
) -> None:
    meters = machine_meters(hardware, gpus)
    assert (meters.source, meters.method) == (source, method)


@pytest.mark.parametrize(
    ("gpus", "source", "method"),
    [
        (Boards(0, None), "measured", "rapl package+dram"),
        (Boards(1, 0.0), "measured", "rapl package+dram, nvml"),
        (Boards(1, None), "modelled", "rapl package+dram, GPU not metered"),
    ],
)
@pytest.mark.parametrize("hardware", [HARDWARE, NO_POWER_MODEL])
def test_with_rapl(
    packages: Path, hardware: HardwareModel, gpus: Gpus, source: str, method: str
) -> None:
    meters = machine_meters(hardware, gpus)
    assert (meters.source, meters.method) == (source, method)
    assert ActiveEnergyMeter(hardware).method == "measured, rapl dram+package-0"


def test_no_part_is_missing_or_counted_twice(packages: Path) -> None:
    hardware = replace(HARDWARE, name="memory_rail")
    assert machine_meters(hardware).method == "rapl package+dram"
    shutil.rmtree(packages / "intel-rapl:0:0")
    assert machine_meters(hardware).method == "rapl package, memory rail"
    shutil.rmtree(packages / "intel-rapl:0")
    assert machine_meters(hardware).method == "power model"


def test_a_run_is_charged_its_parts_and_their_errors(no_packages: None) -> None:
    gpus = Boards(1, 1000.0)
    run = RunEnergy(machine_meters(HARDWARE, gpus))
    start = run.read(wall_s=0.0, cpu_s=0.0, resident_byte_s=0.0)
    gpus.counted_j = 1200.0
    end = run.read(wall_s=10.0, cpu_s=20.0, resident_byte_s=30.0 * 2**30)
    energy = run.of_window({key: end[key] - start[key] for key in end}, 10.0)
    cores_share = min(1.0, len(os.sched_getaffinity(0)) / HARDWARE.cores)
    modelled_j = 16.0 * 10.0 * cores_share + 8.0 * 20.0 + 0.4 * 30.0
    edge_j = 200.0 / 10.0 * 0.1
    assert energy.energy_j == pytest.approx(modelled_j + 200.0)
    assert energy.energy_low_j == pytest.approx(0.9 * modelled_j + 190.0 - edge_j)
    assert energy.energy_high_j == pytest.approx(1.1 * modelled_j + 210.0 + edge_j)


def test_what_is_counted_after_the_stop_is_not_the_runs(no_packages: None) -> None:
    gpus = Boards(1, 0.0)
    run = RunEnergy(MachineMeters([Nvml(gpus)]))
    gpus.counted_j = 7.0
    run.stop()
    gpus.counted_j = 99.0
    assert run.read(wall_s=1.0, cpu_s=1.0, resident_byte_s=0.0)["energy_j"] == 7.0


def test_a_schedule_counts_what_a_run_adds_to_an_idle_machine(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RAPL's energy above 16 W by CPU seconds: the low end of a run's interval."""
    busy_s = iter([100.0, 100.0, 108.0, 108.0])
    monkeypatch.setattr("trimtab.profiling.meters.machine.machine_busy_s", lambda: next(busy_s))
    run, schedule = RunEnergy(machine_meters(HARDWARE)), ActiveEnergyMeter(HARDWARE)
    start = schedule.read(0.0)
    (packages / "intel-rapl:0/energy_uj").write_text(f"{300 * 10**6}\n")
    joules = run.read(wall_s=10.0, cpu_s=2.0, resident_byte_s=1e12)
    active_j = schedule.since(start, 10.0, cpu_s=2.0)
    assert active_j == joules["energy_low_j"] == pytest.approx((300 - 160) * 2 / 8)
    assert joules["energy_high_j"] == pytest.approx(300)


def test_without_figures_the_joules_are_unknown(no_packages: None) -> None:
    schedule = ActiveEnergyMeter()
    assert schedule.method == "unknown"
    assert math.isnan(schedule.since(schedule.read(0.0), 1.0, cpu_s=1.0))
    joules = RunEnergy(machine_meters(NO_POWER_MODEL)).read(
        wall_s=1.0, cpu_s=1.0, resident_byte_s=0.0
    )
    assert math.isnan(joules["energy_j"])


def test_the_models_active_part_is_without_idle_power() -> None:
    use = IntervalUse(
        wall_s=10.0, cpu_s=4.0, resident_byte_s=0.0, machine_busy_s=9.0, cores_usable=8
    )
    share = PowerModel(HARDWARE).share(0.0, use)
    assert share.active_j == 8.0 * 4.0 and share.energy_j == 160.0 + 8.0 * 4.0
