"""What one task takes in an enclave: every term by itself, and what never gets cheaper."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.enclave import CostRange, Enclave, PageCache, ThreadLimit
from trimtab.errors import UserError
from trimtab.secure_tasks.cost import Bound, EnclaveTask, page_faults, protected_s, threads_inside

MIB = 2**20


def cost(low: float, high: float | None = None, typical: float | None = None) -> CostRange:
    return CostRange(low=low, high=low if high is None else high, typical=typical, source="a test")


def enclave(**changes: Any) -> Enclave:
    keys: dict[str, Any] = {
        "work_factor": cost(1, 3),
        "call_s": cost(1e-6, 5e-6, 2e-6),
        "encryption_s_per_byte": cost(1e-9),
        "contention_s": cost(1e-7),
        "page_fault_s": cost(1e-5),
        "page_cache": PageCache(usable_mib=64, source="a test"),
        "thread_limit": ThreadLimit(threads=4, source="a test"),
    }
    return Enclave(name="one", description="for tests", **{**keys, **changes})


def test_every_term_in_seconds() -> None:
    task = EnclaveTask(work_s=1.0, calls=3, in_bytes=400, out_bytes=600)
    assert protected_s(task, 1, enclave()) == pytest.approx(2 * 1.0 + 3 * 2e-6 + 1000 * 1e-9)
    low, high = (protected_s(task, 1, enclave(), bound) for bound in (Bound.LOW, Bound.HIGH))
    assert low == pytest.approx(1.0 + 3 * 1e-6 + 1e-6)
    assert high == pytest.approx(3.0 + 3 * 5e-6 + 1e-6)


def test_contention_of_all_tasks_together_is_what_is_fitted() -> None:
    """N tasks on w workers take N / w of these times: N x contention x (w - 1) of contention."""
    task = EnclaveTask(work_s=1e-3)
    alone = protected_s(task, 1, enclave())
    added = (protected_s(task, 3, enclave()) - alone) / 3
    assert added == pytest.approx(1e-7 * 2)


def test_pages_that_do_not_fit_are_loaded() -> None:
    task = EnclaveTask(work_s=1.0, working_set_bytes=32 * MIB)
    assert [page_faults(task, workers, enclave()) for workers in (1, 2)] == [0, 0]
    assert page_faults(task, 4, enclave()) == pytest.approx(32 * MIB / 4096 / 2)
    assert page_faults(task, 4, enclave(page_cache=None)) == 0
    added = protected_s(task, 4, enclave(contention_s=None)) - protected_s(task, 2, enclave())
    assert added == pytest.approx(4096 * 1e-5 - 2 * 1e-7)


def test_threads_beyond_the_limit_stay_outside() -> None:
    task = EnclaveTask(work_s=1e-3, working_set_bytes=30 * MIB)
    assert [threads_inside(workers, enclave()) for workers in (1, 4, 9)] == [1, 4, 4]
    assert threads_inside(9, enclave(thread_limit=None)) == 9
    assert protected_s(task, 9, enclave()) == protected_s(task, 4, enclave())


def test_an_enclave_without_costs_is_no_protection_to_pay() -> None:
    free = Enclave(name="free", description="for tests")
    task = EnclaveTask(work_s=0.25, calls=9, in_bytes=1e9, out_bytes=1e9, working_set_bytes=1e12)
    assert protected_s(task, 8, free) == 0.25


amounts = st.floats(0, 1e9, allow_nan=False)
tasks = st.builds(
    EnclaveTask,
    work_s=st.floats(0, 1e6),
    calls=st.integers(0, 10**6),
    in_bytes=amounts,
    out_bytes=amounts,
    working_set_bytes=amounts,
)
KEYS = ("work_s", "calls", "in_bytes", "out_bytes", "working_set_bytes")


@given(tasks, st.integers(1, 64), st.sampled_from(Bound), st.sampled_from(KEYS), st.integers(1, 9))
def test_more_to_do_and_more_workers_never_take_less(
    task: EnclaveTask, workers: int, bound: Bound, key: str, more: int
) -> None:
    taken_s = protected_s(task, workers, enclave(), bound)
    assert math.isfinite(taken_s) and taken_s >= task.work_s
    larger = replace(task, **{key: getattr(task, key) + more})
    assert protected_s(larger, workers, enclave(), bound) >= taken_s
    assert protected_s(task, workers + more, enclave(), bound) >= taken_s


@given(tasks, st.integers(1, 64))
def test_the_ends_of_the_range_hold_the_estimate(task: EnclaveTask, workers: int) -> None:
    low, typical, high = (protected_s(task, workers, enclave(), bound) for bound in Bound)
    assert low <= typical <= high


@given(st.floats(1, 1e9), st.integers(1, 64), st.floats(1, 512), st.floats(1, 512))
def test_a_larger_page_cache_is_missed_no_more_often(
    used: float, workers: int, one: float, other: float
) -> None:
    task = EnclaveTask(work_s=0, working_set_bytes=used)
    faults = [
        page_faults(task, workers, enclave(page_cache=PageCache(usable_mib=size, source="a test")))
        for size in sorted((one, other))
    ]
    assert used / 4096 >= faults[0] >= faults[1] >= 0


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_tasks_that_cannot_be(key: str, value: float) -> None:
    with pytest.raises(UserError, match=f"task: {key}: {value}"):
        EnclaveTask(**{"work_s": 1.0, key: value})


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers(workers: int) -> None:
    with pytest.raises(UserError, match=f"workers: {workers} given, expected at least 1"):
        protected_s(EnclaveTask(work_s=1), workers, enclave())
