"""What is wanted of a set-up: one YAML in `conf/objective/`."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.arithmetic import Arithmetic
from trimtab.config.fields import (
    CHECKED,
    MistakeError,
    Name,
    NotNegative,
    Number,
    about,
    satisfying,
)
from trimtab.config.groups.jobs.worth import PricesConfig

Goal = StrEnum("Goal", "MAXIMISE MINIMISE")
Least = StrEnum("Least", "TIME ENERGY")
_CHOICES = satisfying(len, "at least one choice")
DropRatio = Annotated[NotNegative, Field(lt=1)]


@dataclass(config=CHECKED)
class ClassLimits:
    """What one class of jobs must not exceed, and which choices the search has for it."""

    accuracy_loss_pct: NotNegative = about("Largest loss of accuracy.", default=100.0, unit="%")
    response_mean_s: Number | None = about("Largest mean response time.", default=None, unit="s")
    response_p95_s: Number | None = about(
        "Largest 95th percentile of response times.", default=None, unit="s"
    )
    drop_ratios: Annotated[list[DropRatio], _CHOICES] = about(
        "Drop ratios to choose from.", factory=lambda: [0.0]
    )
    timeouts_s: Annotated[list[Number | None], _CHOICES] = about(
        "Times until a job sprints, to choose from; null: never.", factory=lambda: [None], unit="s"
    )
    weight: NotNegative = about("Weight of the class's mean response time.", default=1.0)


@dataclass(config=CHECKED)
class OtherScore:
    """A further score that trials are judged by."""

    score: Arithmetic = about("As `objective.score`.")
    goal: Goal = about("Whether the score should be high or low.", default=Goal.MAXIMISE)


@dataclass(config=CHECKED)
class Objective:
    """The goal: of a schedule by limits, a budget and weights, of tuning by a score."""

    name: Name = about("The file's stem.")
    classes: dict[str, ClassLimits] = about(
        "Limits and choices of each class of the trace.", factory=dict
    )
    sprint_share: NotNegative = about(
        "Largest share of time in which the engine may sprint.", default=1.0
    )
    energy_weight: NotNegative = about("Weight of the energy.", default=0.0)
    prices: PricesConfig = about(
        "What energy, nodes and bytes cost, for what stages are worth.",
        factory=PricesConfig,
        no_result=True,  # the stage worth is given them by themselves
    )
    score: Arithmetic = about(
        "Worth of a configuration in tuning: arithmetic with `min`, `max`, `abs`, `sqrt`, `log`, "
        "`exp` on `accuracy` (`tuning.metric`), `training_s`, `training_j`, `peak_rss_bytes`, "
        "`inference_s`, `inference_j` and the program's other reports.",
        default="accuracy",
        tuning_only=True,
    )
    goal: Goal = about(
        "Whether the score should be high or low.",
        default=Goal.MAXIMISE,
        tuning_only=True,
    )
    others: list[OtherScore] = about(
        "Further scores, for a Pareto front.",
        factory=list,
        tuning_only=True,
    )
    bounds: dict[str, Number] = about(
        "What the chosen trial keeps, as `{accuracy: 0.97}`: the least value of a score, or the "
        "most of one to minimise. Other scores decide.",
        factory=dict,
        tuning_only=True,
    )
    least: Least = about(
        "The quantity that tuning inside trials minimises.",
        default=Least.TIME,
        tuning_only=True,
    )

    @model_validator(mode="after")
    def _scores_are_named_once(self) -> Self:
        scores = [self.score, *(one.score for one in self.others)]
        if twice := [one for one in scores if scores.count(one) > 1]:
            raise MistakeError("others", f"{twice[0]!r} given twice, expected every score once")
        for score in self.bounds:
            if score not in scores or not self.others:
                expected = ", ".join(scores) if self.others else "none beside one score alone"
                raise MistakeError(f"bounds.{score}", f"no score of several; expected {expected}")
        return self
