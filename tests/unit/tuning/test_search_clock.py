"""One line of time for all that search: machines that come late, or again."""

import json
import time
from pathlib import Path

from trimtab.tuning.search.clock import SearchClock


def kept(path: Path, searched_s: float) -> None:
    path.write_text(json.dumps({"searched_s": searched_s}))


def test_one_that_comes_late_begins_where_the_others_are(tmp_path: Path) -> None:
    kept(tmp_path / "clock_1.json", 500.0)
    kept(tmp_path / "clock_3.json", 700.0)
    (tmp_path / "clock_4.json").write_text("{")
    before = time.monotonic()
    second = SearchClock(tmp_path / "clock_2.json", began_s=300.0)
    now_s = second.now_s()
    assert 700.0 <= now_s <= 700.0 + time.monotonic() - before
    second.keep()
    again = SearchClock(tmp_path / "clock_3.json")
    assert again.now_s() >= now_s
    # It was asleep, as a virtual machine may be, while another one went on.
    kept(tmp_path / "clock_1.json", 900.0)
    again.keep()
    assert 900.0 <= again.now_s() <= 900.0 + time.monotonic() - before


def test_rungs_that_ended_are_over(tmp_path: Path) -> None:
    kept(tmp_path / "clock.json", 5.0)
    assert SearchClock(tmp_path / "clock.json", began_s=9.0).now_s() >= 9.0
    assert SearchClock(tmp_path / "none/clock.json").now_s() >= 0.0
