import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tuning.fidelity import Budget, BudgetKind, Fidelity

# The example of the thesis' section 7.4.3: 2 epochs on 10 %, 4 on 20 %, ..., 10 epochs at most.
PUBLISHED = Fidelity(BudgetKind.BOTH, least_epochs=2, most_epochs=10, least_data_fraction=0.1)

FIDELITIES = st.builds(
    Fidelity,
    st.sampled_from(BudgetKind),
    st.integers(1, 5),
    st.integers(5, 100),
    st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.3, 0.7, 1.0]),
)


@pytest.mark.parametrize(
    ("level", "epochs", "data_fraction"),
    [(1, 2, 0.1), (2, 4, 0.2), (3, 6, 0.3), (5, 10, 0.5), (6, 10, 0.6), (10, 10, 1), (11, 10, 1)],
)
def test_both_grow_to_their_own_limits(level: int, epochs: int, data_fraction: float) -> None:
    assert PUBLISHED.at(level) == Budget(epochs, data_fraction)


def test_levels_end_where_nothing_grows() -> None:
    assert PUBLISHED.levels == 10
    assert Fidelity(BudgetKind.EPOCHS, 2, 10, 0.1).levels == 5
    assert Fidelity(BudgetKind.DATA, 2, 10, 0.1).levels == 10
    assert Fidelity(BudgetKind.BOTH, 1, 3, 1.0).levels == 3
    assert Fidelity(BudgetKind.BOTH, 1, 3, 0.3).levels == 4


def test_one_fidelity_keeps_the_other() -> None:
    assert Fidelity(BudgetKind.EPOCHS, 2, 10, 0.1).at(3) == Budget(6, 1.0)
    assert Fidelity(BudgetKind.DATA, 2, 10, 0.1).at(3) == Budget(1, 0.3)


def test_work() -> None:
    assert Budget(4, 0.5).work_epochs == 2
    assert Budget(6, 0.5).work_after(Budget(4, 0.2)) == 1
    assert Budget(6, 0.5).work_after(None) == 3
    # One epoch on a third of the data is no part of one on all of it.
    assert Budget(1, 1.0).work_after(Budget(1, 0.3)) == 1


@given(FIDELITIES)
def test_budgets_grow_up_to_the_last_level_and_not_after(fidelity: Fidelity) -> None:
    last = fidelity.at(fidelity.levels)
    budgets = [fidelity.at(level) for level in range(1, fidelity.levels + 1)]
    for before, after in itertools.pairwise(budgets):
        assert before.epochs <= after.epochs and before.data_fraction <= after.data_fraction
        assert before != after
    assert fidelity.at(fidelity.levels + 7) == last
    assert last.data_fraction == 1
    assert last.epochs == (1 if fidelity.kind == BudgetKind.DATA else fidelity.most_epochs)
