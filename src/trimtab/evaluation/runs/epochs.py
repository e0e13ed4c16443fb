"""Duration, processor time and energy of each epoch."""

from collections.abc import Iterator
from typing import cast

from trimtab.evaluation.inputs.measurements import WorkloadProfile
from trimtab.evaluation.report.section import RUNS, TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    Column,
    Row,
    Table,
    energy_source,
    number,
)

_QUANTITIES = ("duration_s", "cpu_s", "energy_j", "energy_low_j", "energy_high_j")


class EpochCosts(TargetSection):
    """Medians over the repeats of each epoch."""

    order = 410
    chapter = RUNS

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload, condition and epoch."""
        yield Table(
            "epochs",
            "Epochs and energy",
            "Medians over the repeats of each profiled workload, with the energy's interval "
            "below: its width is the uncertainty of the meter or the model.",
            (
                Column("name", "Workload"),
                HARDWARE_COLUMN,
                Column("condition", "Condition"),
                Column("epoch", "Epoch", 0),
                Column("repeats", "Repeats", 0),
                Column("duration_s", "Duration, s", 2),
                Column("cpu_s", "CPU time, s", 2),
                Column("energy_j", "Energy, J", 1, ("energy_low_j", "energy_high_j")),
                Column("energy_source", "Energy is"),
                Column("energy_method", "By"),
            ),
            tuple(row for profile in self.measurements.profiles for row in _rows(profile)),
        )


def _rows(profile: WorkloadProfile) -> Iterator[Row]:
    for key, frame in profile.epochs.groupby(["condition", "epoch"]):
        condition, epoch = cast(tuple[str, int], key)
        median = {quantity: number(frame[quantity].median()) for quantity in _QUANTITIES}
        methods = frame["energy_method"].dropna()
        is_metered = median["energy_j"] is not None
        yield {
            "name": profile.workload,
            "hardware": profile.hardware,
            "condition": condition,
            "epoch": int(epoch),
            "repeats": len(frame),
            **median,
            "energy_source": energy_source(frame["energy_source"]) if is_metered else None,
            "energy_method": ", ".join(sorted(set(methods))) if is_metered else None,
        }
