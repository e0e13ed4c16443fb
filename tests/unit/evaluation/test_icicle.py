"""The icicle of imports: parts lie within the one above, and lose no time."""

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.evaluation.imports.icicle import icicle, parts_of

NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=9).map(".".join)
MODULES = st.lists(
    st.tuples(
        NAMES, st.integers(0, 9).map(float), st.sampled_from(["ran", "read", "none", "unknown"])
    ),
    max_size=20,
)


@settings(deadline=None)
@given(MODULES)
def test_parts_lie_within_the_one_above(modules: list[tuple[str, float, str]]) -> None:
    parts = {part.name: part for part in parts_of(modules)}
    for part in parts.values():
        assert part.level == part.name.count(".") <= 5
        if part.level:
            above = parts[part.name.rpartition(".")[0]]
            assert above.left_s <= part.left_s + 1e-9
            assert part.left_s + part.time_s <= above.left_s + above.time_s + 1e-9
    for level in range(6):
        row = sorted(part[2:4] for part in parts.values() if part.level == level)
        for (left_s, time_s), (after_s, _) in pairwise(row):
            assert left_s + time_s <= after_s + 1e-9
    whole_s = sum(part.time_s for part in parts.values() if not part.level)
    assert whole_s == pytest.approx(sum(own_s for _, own_s, _ in modules))


@settings(max_examples=5, deadline=None)
@given(MODULES)
def test_any_modules_can_be_drawn(modules: list[tuple[str, float, str]]) -> None:
    table = pd.DataFrame(modules, columns=["module", "own_s", "use"])
    assert icicle(table).svg.startswith("<svg")


def test_names_and_uses_are_shown() -> None:
    rows = [("numpy.core", 2.0, "ran"), ("numpy.ma", 1.0, "none"), ("a\x1b.b", 1.0, "read")]
    svg = icicle(pd.DataFrame(rows, columns=["module", "own_s", "use"])).svg
    for word in ("numpy", "core", "ma", "imports: 4.00 s", "nothing was read"):
        assert word in svg
    assert "\x1b" not in svg
