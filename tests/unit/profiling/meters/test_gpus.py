"""Which GPUs a program may use."""

import pytest

from trimtab.profiling.meters.gpus import Gpus, visible_devices

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
