"""Conditions keep what the user has decided, and a program that runs under one can tell."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.processes.program import Program
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.conditions import Condition, varied
from trimtab.profiling.runs.run import measure_run

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
CACHES = ("CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "XDG_CACHE_HOME")
VARIABLES = (*THREADS, *CACHES, "PYTHONHASHSEED", "PYTHONUNBUFFERED", "TRIMTAB_PADDING", "LANG")
SHOW = """
import json, os, sys, importlib.util
print(json.dumps({
    "cpus": len(os.sched_getaffinity(0)), "environment": dict(os.environ),
    "bytes": len(open("/proc/self/environ", "rb").read()),
    "buffered": not sys.stdout.write_through, "hash": hash("a"),
    "compiled": importlib.util.cache_from_source(json.__file__),
}))
"""


def program(folder: Path, environment: dict[str, str], *own: str) -> Program:
    return Program(
        (sys.executable, "-c", SHOW), folder, environment, 60.0, own_variables=frozenset(own)
    )


def seen(folder: Path, condition: Condition, **environment: str) -> dict[str, Any]:
    """What a real process says of itself that runs under `condition`."""
    started = condition.apply(program(folder, environment))
    run = measure_run(
        started, condition="shown", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder / "log"
    )
    assert run.failure is None
    found: dict[str, Any] = json.loads(run.stdout.read_text())
    return found


@given(
    st.integers(0, 300),
    st.dictionaries(st.sampled_from(VARIABLES), st.sampled_from(["", "1", "7", "/mine"])),
    st.sets(st.sampled_from(VARIABLES)),
)
def test_nothing_that_the_user_decided_is_lost(
    number: int, inherited: dict[str, str], own: set[str]
) -> None:
    environment = inherited | dict.fromkeys(own, "the workload's")
    before = program(Path("/"), environment, *own)
    after = varied(number).apply(before)
    assert environment.keys() <= after.environment.keys()
    for name in own:
        assert after.environment[name] == "the workload's"
    if own.intersection(THREADS):
        assert {name: after.environment.get(name) for name in THREADS} == {
            name: environment.get(name) for name in THREADS
        }
    if "PYTHONHASHSEED" in environment:
        assert after.environment["PYTHONHASHSEED"] == environment["PYTHONHASHSEED"]
    assert after.environment.get("LANG") == environment.get("LANG")
    if number == 0:
        assert after == before


@given(st.integers(1, 300))
def test_neighbours_differ_in_all_that_is_varied(number: int) -> None:
    this, following = varied(number), varied(number + 1)
    assert {this.cpus, following.cpus} >= {1}
    assert max(this.cpus or 0, following.cpus or 0) >= 2
    for name in ("PYTHONHASHSEED", "PYTHONUNBUFFERED", "TRIMTAB_PADDING"):
        assert this.variables[name] != following.variables[name]


def test_four_in_a_row_have_every_pair_of_cpus_and_threads() -> None:
    four = {(varied(n).cpus == 1, varied(n).variables[THREADS[0]] == "1") for n in range(1, 5)}
    assert len(four) == 4


def test_a_program_sees_its_condition(tmp_path: Path) -> None:
    caches = tmp_path / "caches"
    as_it_is, one, many = (seen(tmp_path, varied(n, caches), A="b") for n in range(3))
    allowed = os.sched_getaffinity(0)
    assert as_it_is["cpus"] == len(allowed) and as_it_is["environment"]["A"] == "b"
    assert not {*THREADS, *CACHES} & as_it_is["environment"].keys()
    assert one["cpus"] == 1
    assert many["cpus"] == max(2, len(allowed)) or os.cpu_count() == 1
    assert one["environment"]["OMP_NUM_THREADS"] == "1"
    assert int(many["environment"]["OMP_NUM_THREADS"]) >= 2
    assert many["bytes"] >= one["bytes"] + 900 > as_it_is["bytes"] + 1800
    assert (one["buffered"], many["buffered"]) == (False, True)
    assert one["hash"] != many["hash"]
    assert os.sched_getaffinity(0) == allowed  # of this process, as before


def test_caches_are_cold_and_then_warm(tmp_path: Path) -> None:
    """The modules that Python compiled under condition 1 are there under condition 2."""
    caches = tmp_path / "caches"
    compiled: list[Path] = []
    for number in (1, 2):
        before = {path: path.stat().st_mtime_ns for path in compiled}
        found = seen(tmp_path, varied(number, caches), PYTHONDONTWRITEBYTECODE="1")
        assert Path(found["compiled"]).is_relative_to(caches)
        compiled = sorted(caches.rglob("*.pyc"))
        assert Path(found["compiled"]) in compiled
        assert {path: path.stat().st_mtime_ns for path in before} == before
    assert varied(3, caches).caches != varied(1, caches).caches  # cold again


def test_byte_code_of_a_root_is_where_that_has_it(tmp_path: Path) -> None:
    inside = replace(program(tmp_path, {}), root=RootFileSystem(tmp_path))
    found = varied(1, tmp_path / "caches").apply(inside).environment
    assert "TRITON_CACHE_DIR" in found
    assert not {"PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"} & found.keys()


def test_the_users_data_stays_in_reach_and_the_computed_caches_do_not(tmp_path: Path) -> None:
    users = tmp_path / "home" / ".cache"
    for name in ("huggingface", "matplotlib"):
        (users / name).mkdir(parents=True)
        (users / name / "file").write_text("mine")
    found = seen(tmp_path, varied(1, tmp_path / "caches"), HOME=str(tmp_path / "home"))
    cache_home = Path(found["environment"]["XDG_CACHE_HOME"])
    assert cache_home != users
    assert (cache_home / "huggingface" / "file").read_text() == "mine"
    assert not (cache_home / "matplotlib").exists()


@pytest.mark.parametrize("count", [1, 2])
def test_cpus_are_those_that_the_system_allows(tmp_path: Path, count: int) -> None:
    """Also more than the process that starts the run has itself: two are tried on one."""
    before = os.sched_getaffinity(0)
    expected = min(count, os.cpu_count() or 1)
    os.sched_setaffinity(0, sorted(before)[:1])
    try:
        assert seen(tmp_path, Condition("", cpus=count))["cpus"] <= expected
        assert os.sched_getaffinity(0) == set(sorted(before)[:1])
    finally:
        os.sched_setaffinity(0, before)
