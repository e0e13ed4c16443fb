"""`rounds.json`: the round times of a trace's programs on a real processing engine."""

from typing import Annotated, ClassVar, Literal

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Text, one_of

_DISTRIBUTION = one_of("deterministic", "exponential", "erlang", "lognormal")


@dataclass(frozen=True, config=PART)
class RoundTimes:
    """The measured keys of `rounds` of a class in a trace's YAML.

    A task's time is its wave's share of the round; `size_scv` is the squared coefficient of
    variation of whole jobs.
    """

    set_up_s: Amount
    map_task_s: Amount
    shuffle_s: Amount
    reduce_task_s: Amount
    distribution: Annotated[str, _DISTRIBUTION]
    size_scv: Amount


class MeasuredRounds(Document):
    """The round times by class, and the machine's load before."""

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    classes: dict[Text, RoundTimes]
    load_average_before: Amount
