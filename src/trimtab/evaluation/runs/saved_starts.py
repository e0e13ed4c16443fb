"""Starts from snapshots of programs after their imports, and usual ones."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.key_figures import (
    About,
    KeyFigure,
    change,
    difference,
    format_change,
)
from trimtab.evaluation.report.section import Chapter, TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MB,
    MEASURED,
    Column,
    Row,
    Table,
)
from trimtab.evaluation.runs.pairs import PairedComparison, compare_pairs, spread_column
from trimtab.records.imports.saved_starts import WorkloadStart

STARTS = Chapter("starts", "Starts from snapshots", "Starts")


class StartsFromSnapshots(TargetSection):
    """The start of each program in its slim environment, without and with its snapshot."""

    order = 390  # before the start-up of original and slim programs, for page one
    chapter = STARTS

    @property
    def applies(self) -> bool:
        """Whether any start was to be saved."""
        return any(target.starts for target in self.measurements.targets)

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload of each target."""
        yield Table(
            "saved_starts",
            "What a snapshot saves",
            "Starts in the slim environment on this machine, to the first iteration if the program"
            " marks it, else of the whole run: usual ones, and those from a snapshot of the process"
            " after its imports. Medians of interleaved pairs; less is the median of the pairs'"
            " reductions, and below it the smallest and the largest. Verification, sizes and"
            " schedules are without snapshots, quick starts of the stage worth with them.",
            (
                Column("name", "Workload"),
                Column("target", "Target"),
                HARDWARE_COLUMN,
                Column("pairs", "Pairs", 0),
                Column("usual_s", "Usual, s", 3),
                Column("snapshot_s", "From a snapshot, s", 3),
                spread_column("start_reduction", "less, %"),
                Column("snapshot_mb", "Snapshot, MB", 1),
                Column("reason", "Its program's next act, or why there is none"),
                Column("source", "Source"),
            ),
            tuple(_row(target, start) for target, start in self._starts()),
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the start of each workload that has a snapshot."""
        for target, start in self._starts():
            if pairs := compare_pairs(start.pairs_s):
                suffix = "" if start.workload == target.label else f", {start.workload}"
                yield target.label, _figure(f"Start{suffix}", pairs)

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each workload of each target."""
        return {"starts": self.tables[0].by_row("target", "name")}

    def _starts(self) -> Iterator[tuple[DebloatedTarget, WorkloadStart]]:
        for target in self.measurements.targets:
            for start in target.starts:
                yield target, start


def _row(target: DebloatedTarget, start: WorkloadStart) -> Row:
    who = {"name": start.workload, "target": target.label, "hardware": target.hardware}
    row: Row = {**who, "reason": start.reason, "source": MEASURED}
    if pairs := compare_pairs(start.pairs_s):
        times = {"pairs": pairs.pairs, "usual_s": pairs.original, "snapshot_s": pairs.other}
        reduction = pairs.reduction("start_reduction")
        row = {**row, **times, **reduction, "snapshot_mb": start.size_bytes / MB}
    return row


def _figure(label: str, pairs: PairedComparison) -> KeyFigure:
    ratios = (pairs.ratio, pairs.ratio_low, pairs.ratio_high)
    pct, low, high = (100 * (ratio - 1) for ratio in ratios)
    before, after = format_change(pairs.original), format_change(pairs.other)
    words = f"{before} → {after} s from a snapshot; pairs {change(low)} to {change(high)}"
    interval = (low, high) if pairs.pairs > 1 else None
    return replace(difference(label, pct, interval, words), about=About.START)
