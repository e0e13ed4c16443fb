"""Conservative backfilling: whoever delays no job before it may overtake."""

from trimtab.batch.policies.base import Backfill, BatchPolicy


class Conservative(BatchPolicy):
    """Each job has a reservation from its submission on."""

    backfill = Backfill.CONSERVATIVE


def build() -> BatchPolicy:
    """Return the policy."""
    return Conservative()
