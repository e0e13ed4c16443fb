"""The dataset of counts by minute: arrivals in their minutes, durations as their percentiles."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from trimtab.errors import UserError
from trimtab.traces.formats.azure_functions_2019 import read as read_azure_functions_2019
from trimtab.traces.jobs import as_trace, usable
from trimtab.traces.table import check_trace

RANKS = (0, 1, 25, 50, 75, 99, 100)
MS = (0, 100, 250, 500, 750, 990, 1000)


def write_day(folder: Path, day: int, counts: dict[str, dict[int, int]]) -> tuple[Path, Path]:
    """Write a day's two files; all functions but `unknown` have durations."""
    invocations = folder / f"invocations_per_function_md.anon.d{day:02}.csv"
    lines = ["HashOwner,HashApp,HashFunction,Trigger," + ",".join(map(str, range(1, 1441)))]
    for name, minutes in counts.items():
        lines.append(f"o,a,{name},http," + ",".join(str(minutes.get(m, 0)) for m in range(1440)))
    invocations.write_text("\n".join(lines) + "\n")
    durations = folder / f"function_durations_percentiles.anon.d{day:02}.csv"
    names = ",".join(f"percentile_Average_{rank}" for rank in RANKS)
    lines = [f"HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,{names}"]
    for name in counts:
        if name != "unknown":
            lines.append(f"o,a,{name},500,1,0,1000," + ",".join(map(str, MS)))
    durations.write_text("\n".join(lines) + "\n")
    return invocations, durations


def read(days: list[tuple[Path, Path]], skipped: Counter[str], seed: int = 1) -> pd.DataFrame:
    invocations, durations = zip(*days, strict=True)
    jobs = read_azure_functions_2019(invocations, durations, skipped, 250, 2**28, seed)
    return pd.concat(as_trace(usable(jobs, skipped)), ignore_index=True)


def test_arrivals_fall_into_their_minutes_and_durations_follow_the_percentiles(
    tmp_path: Path,
) -> None:
    first = {0: 5, 3: 3000}
    day_1 = write_day(tmp_path, 1, {"f": first, "g": {3: 1000}, "unknown": {7: 11}})
    day_2 = write_day(tmp_path, 2, {"f": {1439: 4}})
    skipped: Counter[str] = Counter()
    trace = read([day_1, day_2], skipped)
    check_trace("trace", trace)
    assert +skipped == {"no duration recorded": 11}
    assert set(trace["job_class"]) == {"0.25c_0.25g"}
    # The first arrival is in the day's first minute, so that minutes move by less than one.
    gaps = trace["arrival_s"].to_numpy()
    assert np.searchsorted(gaps, [60.0, 120.0, 240.0, 86400.0]).tolist() == [5, 5, 4005, 4005]
    assert gaps.size == 4009 and 2 * 86400 - 120 < gaps[-1] <= 2 * 86400
    cdf = stats.kstest(trace["work_s"].to_numpy() * 1e3, lambda ms: np.interp(ms, MS, RANKS) / 100)
    assert cdf.pvalue > 0.001
    assert stats.kstest(gaps[5:4005] - gaps[5], stats.uniform(0, 60).cdf).pvalue > 0.001


def test_same_seed_same_trace(tmp_path: Path) -> None:
    day = write_day(tmp_path, 1, {"f": {0: 50}, "g": {2: 50}})
    pd.testing.assert_frame_equal(read([day], Counter()), read([day], Counter()))
    assert not read([day], Counter()).equals(read([day], Counter(), seed=2))


def test_what_is_refused(tmp_path: Path) -> None:
    counts, durations = write_day(tmp_path, 1, {"f": {0: 5}})
    with pytest.raises(UserError, match="2 files of invocations, 1 of durations"):
        list(read_azure_functions_2019([counts] * 2, [durations], Counter(), 1, 0, 1))
    with pytest.raises(UserError, match="no column 1, 2"):
        read([(durations, durations)], Counter())
    text = counts.read_text()
    counts.write_text(text.replace("http,5", "http,-5"))
    with pytest.raises(UserError, match="function f has a minute that is empty or negative"):
        read([(counts, durations)], Counter())
    counts.write_text(text[:-10])
    with pytest.raises(UserError, match="Expected 1444 columns"):
        read([(counts, durations)], Counter())
