"""Whose inference is measured next, by hand."""

from trimtab.tuning.inference.agenda import Agenda

PLANNED = 2


def agenda(measured: dict[str, int]) -> Agenda:
    return Agenda(lambda key: measured[key] >= PLANNED)


def test_the_trial_that_has_trained_for_longest_is_first() -> None:
    measured = {"a": 0, "b": 0}
    of = agenda(measured)
    assert of.next() is None
    of.started(1, "a")
    of.started(2, "b")
    order = []
    while (key := of.next()) is not None:
        order.append(key)
        measured[key] += 1
    assert order == ["a", "a", "b", "b"]


def test_what_is_waited_for_comes_first_and_what_nobody_trains_is_left() -> None:
    measured = {"a": 0, "b": 0}
    of = agenda(measured)
    of.started(1, "a")
    of.started(2, "b")
    assert of.ended(2) == "b" and of.next() == "b"
    measured["b"] = 1
    assert of.next() == "b" and not of.is_complete("b"), "judged by all, or by none"
    measured["b"] = 2
    assert of.is_complete("b") and of.next() == "a"
    of.judged(2)
    measured["a"] = 1
    of.ended(1)
    measured["a"] = 2
    of.judged(1)
    assert of.next() is None
    of.started(3, "b")
    assert of.next() is None, "another trial of it has it all"


def test_a_trial_that_failed_needs_nothing() -> None:
    of = agenda({"a": 0, "b": 0})
    of.started(1, "a")
    of.started(2, "b")
    assert of.needs(1) == "a"
    of.dropped(1)
    assert of.next() == "b"
