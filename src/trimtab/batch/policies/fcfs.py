"""First come, first served: nobody overtakes."""

from trimtab.batch.policies.base import Backfill, BatchPolicy


class FirstComeFirstServed(BatchPolicy):
    """The first waiting job blocks all behind it."""

    backfill = Backfill.NONE


def build() -> BatchPolicy:
    """Return the policy."""
    return FirstComeFirstServed()
