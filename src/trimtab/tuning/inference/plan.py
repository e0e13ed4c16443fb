"""How inference is tuned."""

from dataclasses import dataclass


@dataclass(frozen=True)
class InferencePlan:
    """The algorithm for inference, and the number of configurations of an architecture.

    If no more exist, all are measured, with any algorithm.
    """

    algorithm: str
    configurations: int
