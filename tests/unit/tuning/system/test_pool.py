"""CPUs are held by one trial at a time, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from trimtab.tuning.system.pool import Pool, ResourceDemand


def test_by_hand() -> None:
    pool = Pool([4, 5, 6, 7], 16.0)
    assert pool.take(0, ResourceDemand(3, 8.0)) == (4, 5, 6)
    assert pool.room(0) == ResourceDemand(4, 16.0) and pool.room(1) == ResourceDemand(1, 8.0)
    assert pool.fits(1, ResourceDemand(1, 8.0))
    assert not pool.fits(1, ResourceDemand(2, 1.0)) and not pool.fits(1, ResourceDemand(1, 9.0))
    assert pool.take(1, ResourceDemand(1, 8.0)) == (7,) and pool.is_used_up
    # The first gives two back and keeps the first that it had; the second grows into them.
    assert pool.take(0, ResourceDemand(1, 8.0)) == (4,)
    assert pool.take(1, ResourceDemand(3, 8.0)) == (7, 5, 6)
    pool.give_back(0)
    assert pool.fits(1, ResourceDemand(4, 16.0)) and pool.room(2) == ResourceDemand(1, 8.0)
    pool.give_back(0)  # nothing is given back twice
    assert not pool.is_used_up


def test_what_is_alone_may_have_what_it_wants() -> None:
    pool = Pool([0, 1], 4.0)
    assert pool.fits(0, ResourceDemand(2, 32.0))
    pool.take(0, ResourceDemand(2, 32.0))
    assert pool.room(1) == ResourceDemand(0, 0.0) and not pool.fits(1, ResourceDemand(1))


def test_demands() -> None:
    assert ResourceDemand.of({"cores": 2, "memory_gib": 3}, 8) == ResourceDemand(2, 3.0)
    assert ResourceDemand.of({"threads": 2}, 8) == ResourceDemand(8, 0.0)
    assert ResourceDemand(1, 12.0).share_of(ResourceDemand(4, 16.0)) == 0.75


STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 20)), max_size=40)


@given(STEPS)
def test_no_cpu_is_held_twice(steps: list[tuple[int, int, int]]) -> None:
    pool, held = Pool(range(6), 16.0), dict[int, tuple[int, ...]]()
    for holder, cores, memory_gib in steps:
        demand = ResourceDemand(cores, float(memory_gib))
        if not cores:
            pool.give_back(holder)
            held.pop(holder, None)
        elif pool.fits(holder, demand):
            before = held.get(holder, ())
            held[holder] = pool.take(holder, demand)
            assert len(held[holder]) == cores
            assert held[holder][: len(before)] == before[:cores]
        every = [cpu for cpus in held.values() for cpu in cpus]
        assert len(every) == len(set(every)) <= 6
        assert pool.room(None).cores == 6 - len(every)


def test_gpus_are_one_trials_alone() -> None:
    pool = Pool([0, 1, 2], 16.0, ["a", "b"])
    one, both = ResourceDemand.of({"gpus": 1}, 1), ResourceDemand.of({"gpus": 2}, 1)
    pool.take(0, one)
    assert pool.gpus_of(0) == ("a",) and pool.room(1) == ResourceDemand(2, 16.0, 1)
    assert pool.fits(1, one) and not pool.fits(1, both)
    pool.take(1, one)
    assert pool.gpus_of(1) == ("b",) and not pool.fits(2, one) and pool.fits(2, ResourceDemand(1))
    # One that is ending has its GPUs and memory still, but no CPU.
    pool.give_back_cpus(0)
    assert pool.room(2) == ResourceDemand(2, 16.0, 0)
    pool.give_back(0)
    assert pool.gpus_of(0) == () and pool.room(2).gpus == 1
    assert (
        both.share_of(pool.machine) == 1.0
        and ResourceDemand(1).share_of(ResourceDemand(2, 1.0)) == 0.5
    )
