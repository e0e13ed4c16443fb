"""What is wanted of a set-up: one YAML in `conf/objective/`."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import InvalidValueError, about, check_name, check_number


@dataclass
class ClassLimits:
    """What one class of jobs must not exceed, and which choices the search has for it."""

    accuracy_loss_pct: float = field(
        default=100.0, metadata=about("Largest loss of accuracy.", unit="%")
    )
    response_mean_s: float | None = field(
        default=None, metadata=about("Largest mean response time.", unit="s")
    )
    response_p95_s: float | None = field(
        default=None, metadata=about("Largest 95th percentile of response times.", unit="s")
    )
    drop_ratios: list[float] = field(
        default_factory=lambda: [0.0], metadata=about("Drop ratios to choose from.")
    )
    timeouts_s: list[float | None] = field(
        default_factory=lambda: [None],
        metadata=about("Times until a job sprints to choose from; null: never.", unit="s"),
    )
    weight: float = field(
        default=1.0, metadata=about("Of the class's mean response time in the choice.")
    )

    def __post_init__(self) -> None:
        check_number("accuracy_loss_pct", self.accuracy_loss_pct, minimum=0)
        check_number("weight", self.weight, minimum=0)
        for key in ("drop_ratios", "timeouts_s"):
            if not getattr(self, key):
                raise InvalidValueError(key, [], "at least one choice")
        for ratio in self.drop_ratios:
            check_number("drop_ratios", ratio, minimum=0)
            if ratio >= 1:
                raise InvalidValueError("drop_ratios", ratio, "less than 1")


@dataclass
class Objective:
    """Limits by class, a budget, and the weights that choose among what meets them."""

    name: str = field(
        default=MISSING, metadata=about("Name of the objective: the stem of its file.")
    )
    classes: dict[str, ClassLimits] = field(
        default_factory=dict, metadata=about("Limits and choices of each class of the trace.")
    )
    sprint_share: float = field(
        default=1.0,
        metadata=about("Largest share of all time in which the engine may sprint: the budget."),
    )
    energy_weight: float = field(
        default=0.0,
        metadata=about("Of the energy in the choice; the classes' weights are of response times."),
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_number("sprint_share", self.sprint_share, minimum=0)
        check_number("energy_weight", self.energy_weight, minimum=0)
