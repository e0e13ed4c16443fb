"""Bytes that fleets of images with a common layer pull and store, before and after."""

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.evaluation.images.section import IMAGES
from trimtab.evaluation.report.section import ReportSection
from trimtab.evaluation.report.tables import MB, Column, Row, Table, reduction_pct
from trimtab.records.images.fleet import Fleet, FleetState

_STATES = {"before": "Original", "alone": "Slim, each alone", "sharing": "Slim, sharing"}


class Fleets(ReportSection):
    """The bytes of the layers of each fleet, each shared layer once."""

    stage = "fleet"
    order = 62
    chapter = IMAGES

    def make_tables(self) -> Iterator[Table]:
        """A row for each image of a fleet, and one for all on one host."""
        yield Table(
            "fleets",
            "Images that share layers",
            "Bytes of layers: pulled, compressed with zstd, and stored, as tar archives. Of all"
            " images of a fleet on one host, a layer that several have is pulled and stored once.",
            (
                Column("name", "Fleet"),
                Column("image", "Image"),
                *(
                    Column(f"{state}_{what}_mb", f"{words}, {what}, MB", 1)
                    for state, words in _STATES.items()
                    for what in ("pulled", "stored")
                ),
                Column("pulled_reduction_pct", "less pulled, %", 1),
            ),
            tuple(row for name, fleet in self.results.items() for row in _rows(name, fleet)),
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the totals of each fleet."""
        return {"fleets": self.tables[0].by_row("name", "image")}


_ALL = "all on one host"


def _rows(name: str, fleet: Fleet) -> Iterator[Row]:
    for image in fleet.before.images:
        yield _row(name, image, fleet, image)
    yield _row(name, _ALL, fleet, None)


def _row(name: str, shown: str, fleet: Fleet, image: str | None) -> Row:
    row: dict[str, Any] = {"name": name, "image": shown}
    for state in _STATES:
        found: FleetState = getattr(fleet, state)
        layers = found.all if image is None else found.images[image]
        row[f"{state}_pulled_mb"] = layers.pulled_bytes / MB
        row[f"{state}_stored_mb"] = layers.stored_bytes / MB
    row["pulled_reduction_pct"] = reduction_pct(row["before_pulled_mb"], row["sharing_pulled_mb"])
    return row
