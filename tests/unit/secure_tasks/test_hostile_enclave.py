"""Enclaves and kernels that are used as they should not be, by two programs of tests/native."""

from pathlib import Path

import pytest
from task_programs import SOURCES, build, run_path

from trimtab.places import PROJECT

PARTS = (
    "enclave", "inside", "sealing", "secret_memory", "confine", "process", "pkeys", "modelled",
    "sgx",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [PROJECT / "tests/native/hostile_enclave.c", *(SOURCES / f"{x}.c" for x in PARTS)]
    return build(sources, tmp_path_factory.mktemp("hostile") / "hostile", "-Wall", "-Werror")


@pytest.mark.parametrize("kind", ["process", "pkeys", "modelled"])
def test_what_is_hostile_is_refused(hostile: Path, kind: str) -> None:
    done = run_path(hostile, kind)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_kernels_of_networks_touch_their_buffers_alone(tmp_path: Path) -> None:
    parts = ("kernels", "convolution", "detection")
    sources = [PROJECT / "tests/native/hostile_layers.c", *(SOURCES / f"{x}.c" for x in parts)]
    flags = ("-O1", "-Wall", "-Werror", "-fsanitize=address,undefined")
    done = run_path(build(sources, tmp_path / "hostile", *flags, "-fno-sanitize-recover=all"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
