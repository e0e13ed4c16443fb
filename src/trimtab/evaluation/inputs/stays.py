"""The stays of jobs on nodes, read from a file that may be long, and given lanes to be drawn in."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell


@dataclass(frozen=True)
class Window:
    """The first stays of a cell (STAYS), cut at `until_s`, and how many there are in its file."""

    stays: pd.DataFrame
    until_s: float
    of: int


def first_stays(cell: Cell, limit: int) -> Window | None:
    """Return the first `limit` stays by their start; None where there are none.

    The window ends where the first stay begins that is not in it, so that it shows all that ran;
    a stay that goes on has the end "goes on". Where all began at once, each is there to its end.
    """
    starts = pq.read_table(cell.stays, columns=["start_s"]).to_pandas()["start_s"]
    if starts.empty:
        return None
    nearest = starts.nsmallest(limit + 1)
    wanted = [("start_s", "<=", float(nearest.iloc[-1]))]
    frame = pq.read_table(cell.stays, filters=wanted).to_pandas()
    frame = frame.sort_values(["start_s", "end_s", "job"], kind="stable").head(limit)
    until_s = float(frame["end_s"].max())
    if len(nearest) > limit and nearest.iloc[-1] > nearest.iloc[0]:
        until_s = min(until_s, float(nearest.iloc[-1]))
        frame = frame[frame["start_s"] < until_s].copy()
        frame.loc[frame["end_s"] > until_s, "end"] = "goes on"
        frame["end_s"] = frame["end_s"].clip(upper=until_s)
    # A stay that never became ready was set-up from its start to its end.
    frame["ready_s"] = frame["ready_s"].fillna(frame["end_s"])
    frame["ready_s"] = frame["ready_s"].clip(frame["start_s"], frame["end_s"])
    return Window(frame.reset_index(drop=True), until_s, len(starts))


def lanes(stays: pd.DataFrame) -> pd.Series:
    """Return the lowest free lane of each stay of one node, in thousandths of a core.

    Stays that overlap in time never overlap in lanes; a job that goes on at another frequency
    keeps its lane. `stays` is in the order of their starts. A stay of no core takes one.
    """
    taken: list[tuple[float, int, int]] = []  # end, lowest and highest lane
    before: dict[int, int] = {}
    found = []
    for stay in stays.to_dict("records"):
        taken = [lane for lane in taken if lane[0] > stay["start_s"]]
        height = lane_height(stay)
        candidates = [before.get(stay["job"], 0), 0, *sorted(top for _, _, top in taken)]
        lowest = next(
            at
            for at in candidates
            if all(at >= top or at + height <= bottom for _, bottom, top in taken)
        )
        before[stay["job"]] = lowest
        taken.append((stay["end_s"], lowest, lowest + height))
        found.append(lowest)
    return pd.Series(found, index=stays.index, dtype="int64")


def lane_height(stay: Any) -> int:
    """Return how many thousandths of a core a stay is drawn with."""
    return int(stay["cpu_milli"]) or 1000
