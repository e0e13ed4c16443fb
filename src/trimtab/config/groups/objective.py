"""What is wanted of a set-up: one YAML in `conf/objective/`."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.config.arithmetic import Arithmetic
from trimtab.config.fields import CHECKED, Name, NotNegative, Number, about, satisfying
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
        "`exp` on `accuracy` (`tuning.metric`), `training_s`, `training_j`, `inference_s`, "
        "`inference_j` and the program's other reports.",
        default="accuracy",
        tuning_only=True,
    )
    goal: Goal = about(
        "Whether the score should be high or low.",
        default=Goal.MAXIMISE,
        tuning_only=True,
    )
    least: Least = about(
        "The quantity that tuning inside trials minimises.",
        default=Least.TIME,
        tuning_only=True,
    )
