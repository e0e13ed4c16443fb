"""Who else had the machine: shares of its processors' time, and when they are told."""

import os

import pytest

from trimtab.profiling.cpu_contention import Glimpse, stolen_s
from trimtab.records.verdict import MachineLoad

CPUS = os.cpu_count() or 1


def test_others_took_what_was_busy_and_not_ours() -> None:
    before = Glimpse(clock_s=100.0, busy_s=1000.0, stolen_s=5.0, own_s=10.0, waited_s=1.0)
    later = Glimpse(
        clock_s=110.0, busy_s=1000.0 + 6 * CPUS, stolen_s=5.0 + CPUS, own_s=10.0 + 2 * CPUS,
        waited_s=4.0,
    )  # fmt: skip
    load = before.load_until(later)
    assert load.others_share == pytest.approx(0.4)
    assert (load.stolen_share, load.waited_share) == (pytest.approx(0.1), pytest.approx(0.3))
    assert load.busy == (
        "other processes took 40% of its processors' time, other guests of its host took 10% of it,"
        " something waited for a processor 30% of the time"
    )


def test_what_we_used_alone_is_nobody_elses() -> None:
    before = Glimpse.now()
    sum(range(300_000))
    load = before.load_until(Glimpse.now())
    assert 0 <= load.others_share <= 1 and 0 <= load.waited_share <= 1
    alone = Glimpse(0.0, 0.0, 0.0, 0.0, 0.0).load_until(Glimpse(8.0, 4.0, 0.0, 4.5, 6.0))
    assert alone == MachineLoad(0.0, 0.0, 0.75)
    assert alone.busy == ""  # threads of ours wait for each other


def test_stolen_time_is_the_eighth_number() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert stolen_s(f"cpu  1 2 3 4 5 6 7 {3 * ticks} 9 10\ncpu0 1\n") == 3
    assert stolen_s("cpu  1 2 3 4 5 6 7\n") == 0
