"""What a policy means for deadlines, start-ups and rented nodes, in `comparison.json`."""

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.values import AboveZero, Amount, Share, Whole


@dataclass(frozen=True, config=PART)
class DeadlineFigures:
    """The jobs that have a deadline: the share that ends later, and by how much on average.

    A job that is in time has a tardiness of 0.
    """

    jobs: AboveZero
    late_share: Share
    mean_tardiness_s: Amount


@dataclass(frozen=True, config=PART)
class StartupFigures:
    """Start-ups from images: how long jobs wait for these, and the jobs that wait for a pull.

    `pulled_bytes` is of all nodes that pulled an image; null where a pulled image's size is
    unknown.
    """

    startup_s: Amount
    cold_starts: Whole
    pulled_bytes: Whole | None


@dataclass(frozen=True, config=PART)
class NodeUse:
    """The hours for which nodes were there, and their price; null without prices.

    Nodes that are switched off until they are needed count while they are on, others all the time.
    """

    hours: Amount
    cost_eur: Amount | None
