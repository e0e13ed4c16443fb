"""`rounds.json`: the times of the rounds of a trace's programs on a real processing engine."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document


@dataclass(frozen=True, config=PART)
class RoundTimes:
    """The keys of `rounds` of a class in a trace's YAML that were measured.

    A task's time is its wave's share of the round; `size_scv` is the squared coefficient of
    variation of whole jobs.
    """

    set_up_s: float
    map_task_s: float
    shuffle_s: float
    reduce_task_s: float
    distribution: str
    size_scv: float


class MeasuredRounds(Document):
    """The times of rounds by class, and how busy the machine was before."""

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    classes: dict[str, RoundTimes]
    load_average_before: float
