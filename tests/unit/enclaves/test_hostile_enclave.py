"""Enclaves that are used as they should not be: tests/native/hostile_enclave.c has the uses."""

from pathlib import Path

import pytest
from task_programs import SOURCES, build, run_path

from trimtab.native import PROJECT

PARTS = (
    "enclave", "inside", "sealing", "secret_memory", "confine", "process", "pkeys", "modelled"
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
