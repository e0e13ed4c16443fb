"""Which GPUs a program may use."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from trimtab.profiling.meters.gpus import GpuMeter, Gpus, visible_devices

UUIDS = ["GPU-aa11", "GPU-ab22", "GPU-cc33"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("2,0", [2, 0]),
        ("1, 1", [1]),
        ("0,9,1", [0]),  # what follows an invalid entry is invisible too
        ("GPU-c", [2]),
        ("GPU-a", []),  # names two
        ("GPU-ab22,0", [1, 0]),
        ("MIG-1234", []),
    ],
)
def test_visible_devices(value: str | None, expected: list[int]) -> None:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_devices(environment, UUIDS) == expected


def test_a_program_that_may_use_no_gpu_holds_no_gpu_memory() -> None:
    with Gpus({"CUDA_VISIBLE_DEVICES": ""}) as gpus:
        assert len(gpus) == 0 and not gpus.metered and gpus.memory_bytes({1}) is None


# What NVML said every 50 ms of matrix products on an H100 (driver 580.159.04), in bursts of random
# length that together took `kernel_share` of the time by CUDA's events.
RECORDED = json.loads((Path(__file__).parent / "data/nvml_h100.json").read_text())


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Gpus]:
    """Have NVML say what it said in a recorded run."""

    def refuse(device: object) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def replay(run: dict[str, Any]) -> Gpus:
        busy, energy, used = (iter(run[key]) for key in ("busy_pct", "energy_mj", "used_bytes"))
        said: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetUUID": lambda device: UUIDS[0],
            "nvmlDeviceGetComputeRunningProcesses": refuse,
            "nvmlDeviceGetUtilizationRates": lambda device: SimpleNamespace(gpu=next(busy)),
            "nvmlDeviceGetTotalEnergyConsumption": lambda device: next(energy),
            "nvmlDeviceGetMemoryInfo": lambda device: SimpleNamespace(used=next(used)),
        }
        for name, answer in said.items():
            monkeypatch.setattr(pynvml, name, answer)
        return Gpus({})

    return replay


@pytest.mark.parametrize("run", RECORDED, ids=[f"{run['kernel_share']:.0%}" for run in RECORDED])
def test_a_recorded_run(replayed: Callable[[dict[str, Any]], Gpus], run: dict[str, Any]) -> None:
    with replayed(run) as gpus:
        use = GpuMeter(gpus)
        for time_s in run["times_s"]:
            use.look((), time_s)
        use.end()
    assert use.busy_share == pytest.approx(run["kernel_share"], abs=0.03)
    assert use.energy_j == pytest.approx((run["energy_mj"][-1] - run["energy_mj"][0]) / 1000)
    assert use.peak_memory_bytes == 0  # all of it was taken before


def test_a_board_that_does_not_tell(
    replayed: Callable[[dict[str, Any]], Gpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    with replayed(RECORDED[0]) as gpus:
        use = GpuMeter(gpus)
        use.look((), 1.0)
        monkeypatch.setattr(
            pynvml,
            "nvmlDeviceGetUtilizationRates",
            pynvml.nvmlDeviceGetComputeRunningProcesses,  # which refuses
        )
        use.look((), 2.0)
        monkeypatch.undo()
    assert use.busy_share is None and use.energy_j is None


def test_without_a_gpu_nothing_is_known() -> None:
    with Gpus({"CUDA_VISIBLE_DEVICES": ""}) as gpus:
        use = GpuMeter(gpus)
        use.look({1}, 1.0)
        use.end()
    assert (use.peak_memory_bytes, use.busy_share, use.energy_j) == (None, None, None)
