"""How much of inference is tuned."""

from dataclasses import dataclass


@dataclass(frozen=True)
class InferencePlan:
    """By which algorithm inference is tuned, and how many configurations of an architecture.

    Where there are no more than so many, each is measured, whatever the algorithm.
    """

    algorithm: str
    configurations: int
