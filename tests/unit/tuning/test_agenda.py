"""Whose inference is measured next, by hand."""

from trimtab.tuning.inference.agenda import Agenda


def agenda(measured: dict[str, int], planned: int = 2, failing: str = "") -> Agenda:
    return Agenda(
        lambda key: measured[key],
        lambda key: measured[key] > 0 and key not in failing,
        lambda key: measured[key] >= planned,
    )


def test_each_has_a_result_before_any_has_its_best() -> None:
    measured = {"a": 0, "b": 0}
    of = agenda(measured)
    assert of.next() is None
    of.started(1, "a")
    of.started(2, "b")
    order = []
    while (key := of.next()) is not None:
        order.append(key)
        measured[key] += 1
    assert order == ["a", "b", "a", "b"]


def test_what_is_waited_for_comes_first_and_what_nobody_trains_is_left() -> None:
    measured = {"a": 0, "b": 0}
    of = agenda(measured)
    of.started(1, "a")
    of.started(2, "b")
    assert of.ended(2) == "b" and of.next() == "b" and not of.is_ready("b")
    measured["b"] = 1
    assert of.is_ready("b") and of.next() == "a"
    of.judged(2)
    of.ended(1)
    measured["a"] = 1
    of.judged(1)
    assert of.next() is None, "one of two was measured, and no trial is there that it helps"
    of.started(3, "b")
    assert of.next() == "b", "another trial of it goes on from there"


def test_one_that_fails_is_tried_until_its_plan_is_over() -> None:
    measured = {"a": 1}
    of = agenda(measured, failing="a")
    of.started(1, "a")
    of.ended(1)
    assert of.next() == "a" and not of.is_ready("a")
    measured["a"] = 2
    assert of.is_ready("a") and of.next() is None
