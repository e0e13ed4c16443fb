"""The stage `growth`: the lines of a code base by year, at each of its samples.

git-of-theseus computes this by `git blame` of every file at every sample (the first seed, section
3.2 and figures 1.1, 4.1 and 4.2). Here the diffs between samples give it, so a line is read only
when it changes.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from trimtab.config.groups.code_base import CodeBase
from trimtab.growth.history import Sample, open_repository, samples_of, tip_of
from trimtab.growth.lines import LineYears
from trimtab.growth.progress import Progress, Row
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import LINES_BY_YEAR

OnProgress = Callable[[int, int], None]  # samples done, of how many


def measure_growth(
    wanted: CodeBase,
    tip: str,
    destination: Path,
    on_progress: OnProgress = lambda done, total: None,
) -> None:
    """Write `lines.parquet` to `destination`: rows of LINES_BY_YEAR for every sample until `tip`.

    `tip` is the commit that the revision of `wanted` named when the work was planned; it may name a
    later one by now. A later call resumes from `progress.npz` there, with the same result as a new
    call. Raises UserError for a missing repository, an incomplete history, and an unknown tip.
    """
    repository = open_repository(Path(wanted.location))
    *complete, last = samples_of(repository, tip_of(repository, tip), wanted.interval_days)
    progress = Progress.read(destination / "progress.npz", wanted)
    done = progress.done_of(complete)
    lines = LineYears(wanted.files, dict(progress.by_file or {}) if done else {})
    rows = list(progress.rows) if done else []
    before = progress.commit if done else None

    def count(sample: Sample) -> None:
        lines.follow(repository, before, sample.commit, sample.year)
        rows.extend(_rows(sample, lines))

    for number, sample in enumerate(complete[done:], done + 1):
        count(sample)
        before = sample.commit
        on_progress(number, len(complete) + 1)
    # The last sample may be within an interval, so it cannot be resumed from.
    Progress(progress.key, before or "", list(rows), lines.by_file).write(
        destination / "progress.npz"
    )
    count(last)
    on_progress(len(complete) + 1, len(complete) + 1)
    frame = pd.DataFrame(rows, columns=["commit", "at_s", "year", "lines"])
    frame["code_base"] = wanted.name
    write_table(destination / "lines.parquet", LINES_BY_YEAR, frame)


def _rows(sample: Sample, lines: LineYears) -> list[Row]:
    counts = lines.counts() or {sample.year: 0}
    return [(sample.commit, sample.at_s, year, counts[year]) for year in sorted(counts)]
