"""The counters of calls in code objects, against calls that are counted here."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.profiling.imports.inside_program.call_counters import CallCounters
from trimtab.profiling.imports.inside_program.call_events import ProfiledCalls

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12),
    reason="Python 3.12 and newer have events; test_imports_recorded.py runs older ones",
)
SOURCE = """
def f0(): return alpha
class C:
    @staticmethod
    def f1(): return [beta for _ in (1, 2)]
def f2():
    def inner(): return gamma
    return inner()
f1 = C.f1
alpha = beta = gamma = 0
"""
NAMES = {"f0": {"alpha"}, "f1": {"beta"}, "f2": {"gamma"}}
CALLS = st.dictionaries(st.sampled_from(sorted(NAMES)), st.integers(1, 12))


def executed(calls: Any, during: dict[str, int], after: dict[str, int]) -> Any:
    body = compile(SOURCE, "/m.py", "exec")
    space: dict[str, Any] = {}
    calls.begin(body)
    exec(body, space)
    for name, number in during.items():
        for _ in range(number):
            space[name]()
    calls.end(body)
    for name, number in after.items():
        for _ in range(number):
            space[name]()
    return calls.ran().get("/m.py", (0, set()))


@given(CALLS, CALLS)
def test_what_ran_later_is_known(during: dict[str, int], after: dict[str, int]) -> None:
    """What was called eight times before may have run, and is said to have."""
    counters = CallCounters()
    functions, names = executed(counters, during, after)
    certain, possible = set(after), {name for name, number in during.items() if number >= 8}
    assert functions == len(certain | possible)
    assert names >= set().union(*(NAMES[name] for name in certain))
    assert names.isdisjoint(
        set().union(*(NAMES[name] for name in NAMES.keys() - certain - possible))
    )


@settings(max_examples=20)
@given(CALLS, CALLS)
def test_every_python_can_know_it_by_profiling(
    during: dict[str, int], after: dict[str, int]
) -> None:
    before = sys.getprofile()
    try:
        functions, names = executed(ProfiledCalls(), during, after)
    finally:
        sys.setprofile(before)
    assert bool(functions) == bool(after)
    assert names & {"alpha", "beta", "gamma"} == set().union(*(NAMES[name] for name in after))
