"""Whoever has room starts, in order of submission; wide jobs can starve."""

from trimtab.batch.policies.base import Backfill, BatchPolicy


class AnyFit(BatchPolicy):
    """No job waits for one before it."""

    backfill = Backfill.ANY


def build() -> BatchPolicy:
    """Return the policy."""
    return AnyFit()
