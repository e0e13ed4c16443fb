import threading
from collections.abc import Iterator

import pytest

from trimtab.simulation.prefetcher import Prefetcher


def test_items_come_in_order() -> None:
    with Prefetcher(iter(range(50))) as items:
        assert list(items) == list(range(50))


def test_what_is_raised_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("second")

    with Prefetcher(items()) as found:
        assert next(found) == 1
        with pytest.raises(KeyError, match="second"):
            next(found)


@pytest.mark.parametrize("used", [0, 1, 5])
def test_leaving_early_ends_the_thread_and_makes_no_more(used: int) -> None:
    made: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            made.append(len(made))
            yield made[-1]

    before = threading.active_count()
    with Prefetcher(endless()) as items:
        for _ in range(used):
            next(items)
    assert threading.active_count() == before
    assert len(made) <= used + 2 * (2 + 1)
