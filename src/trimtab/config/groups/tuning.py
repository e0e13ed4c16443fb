"""What is tuned of a workload: the key `tuning` of its YAML."""

from collections.abc import Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    Count,
    InvalidValueError,
    MistakeError,
    Name,
    NoNul,
    ParameterName,
    Positive,
    Scalar,
    about,
    satisfying,
)
from trimtab.config.groups.scenario import ScenarioConfig
from trimtab.config.parameter import Parameter, same
from trimtab.config.validate import nearest

# What a parameter belongs to: the architecture of the model, how it is trained, what it is trained
# on, and how it is used afterwards (Rocha's thesis, section 7.2).
Kind = StrEnum("Kind", "MODEL TRAINING SYSTEM INFERENCE")
FIDELITIES = ("epochs", "data_fraction")  # parameters of the program that the tuner sets itself
# What is no parameter of the program: how much of it there may be at least, in whole numbers, or
# None where any number above 0 is an amount.
_SYSTEM: dict[str, int | None] = {
    "cores": 1,
    "threads": 1,
    "memory_gib": None,
    "frequency_mhz": None,
    "gpus": 0,
    "loader_workers": 0,
}
_AMOUNTS = {
    Kind.SYSTEM: _SYSTEM,
    Kind.INFERENCE: {
        "batch_size": 1,
        **{name: least for name, least in _SYSTEM.items() if name != "loader_workers"},
    },
}


@dataclass(config=CHECKED)
class EpochRange:
    """How many epochs a configuration is trained for."""

    least: Count = about("Epochs before a configuration is first judged.")
    most: Count = about("Most epochs.")

    @model_validator(mode="after")
    def _most_is_no_less(self) -> Self:
        if self.most < self.least:
            raise InvalidValueError("most", self.most, f"a number of at least {self.least}")
        return self


@dataclass(config=CHECKED)
class DataFraction:
    """How much of its data a configuration is trained with."""

    least: Annotated[Positive, Field(le=1)] = about(
        "Share of the training data before a configuration is first judged; the most is all."
    )


@dataclass(config=CHECKED)
class Characterized:
    """Runs that show which parameters matter: those that have no impact keep their defaults."""

    runs: Annotated[NoNul, satisfying(len, "a path")] = about(
        "The `runs.parquet` of a characterization."
    )
    workload: NoNul = about("Its workload that is like this one, as `digits_lenet5`.")


@dataclass(config=CHECKED)
class Tuning:
    """The parameters that are tuned, and how much training a configuration of them is given.

    A parameter's full name is that of its kind and its own: `training.batch_size`.
    """

    epochs: EpochRange = about("The program's parameter `epochs`.")
    data_fraction: DataFraction | None = about(
        "The program's parameter `data_fraction`. Without it all data, and no such parameter.",
        default=None,
    )
    metric: Annotated[str, satisfying(str.isidentifier, "the name of a metric")] = about(
        "The reported measure of quality; higher is better.",
        default="accuracy",
    )
    model: dict[ParameterName, Parameter] = about(
        "The program's parameters of the model.", factory=dict
    )
    training: dict[ParameterName, Parameter] = about(
        "The program's parameters of training.", factory=dict
    )
    system: dict[ParameterName, Parameter] = about(
        f"The machine of the training: {', '.join(_AMOUNTS[Kind.SYSTEM])}.", factory=dict
    )
    inference: dict[ParameterName, Parameter] = about(
        f"How the model is used: {', '.join(_AMOUNTS[Kind.INFERENCE])}.", factory=dict
    )
    inference_workload: Name | None = about(
        "The workload in `conf/workload/` that uses the model, to measure `inference` parameters. "
        "It gets `model` parameters that it has too.",
        default=None,
    )
    inference_hardware: Name | None = about(
        "The device in `conf/hardware/`, with `rooflines`, that is emulated to measure "
        "`inference` parameters; by default this machine.",
        default=None,
    )
    scenario: ScenarioConfig | None = about(
        "How samples arrive. The batch size then has the shortest mean response time, not the "
        "least time a sample.",
        default=None,
    )
    characterized: Characterized | None = about(
        "Runs that show which parameters matter; others keep their defaults.",
        default=None,
    )
    forbidden: list[dict[str, Scalar]] = about(
        "Combinations that no configuration has, as `{training.batch_size: 128, system.cores: "
        "1}`. Their parameters have choices or are whole.",
        factory=list,
    )

    @model_validator(mode="after")
    def _parameters_are_known(self) -> Self:
        if not self.parameters:
            raise MistakeError("model", "nothing to tune; expected a parameter of any kind")
        for kind, amounts in _AMOUNTS.items():
            for name, parameter in self.of_kind(kind).items():
                if name not in amounts:
                    known = f"{nearest(name, amounts)}expected one of {', '.join(amounts)}"
                    raise MistakeError(f"{kind}.{name}", f"unknown parameter; {known}")
                _check_amounts(f"{kind}.{name}", amounts[name], parameter)
        for kind in (Kind.MODEL, Kind.TRAINING):
            for name in self.of_kind(kind):
                if name in FIDELITIES:
                    problem = f"the key `tuning.{name}` says how it grows; expected another name"
                    raise MistakeError(f"{kind}.{name}", problem)
        both = [name for name in self.training if name in self.model]
        if both:
            problem = "it is in `model` too; expected each of the program's parameters once"
            raise MistakeError(f"training.{both[0]}", problem)
        return self

    @model_validator(mode="after")
    def _inference_is_whole(self) -> Self:
        if bool(self.inference) < (self.inference_workload is not None):
            raise MistakeError("inference", "no parameter; expected some, as inference_workload is")
        if self.inference_hardware is not None and self.inference_workload is None:
            raise MistakeError(
                "inference_workload", "missing; expected it beside `inference_hardware`"
            )
        if self.scenario is not None and "batch_size" not in self.inference:
            raise MistakeError("inference.batch_size", "missing; expected it beside `scenario`")
        return self

    @model_validator(mode="after")
    def _conditions_fit(self) -> Self:
        parameters = self.parameters
        for full_name, parameter in parameters.items():
            for other, values in parameter.when.items():
                for value in values:
                    self._check_named(f"{full_name}.when", other, value)
        try:
            self.order()
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise MistakeError(
                f"{error.args[1][0]}.when", f"conditions in a circle: {circle}"
            ) from None
        return self

    @model_validator(mode="after")
    def _defaults_are_allowed(self) -> Self:
        for position, values in enumerate(self.forbidden):
            key = f"forbidden[{position}]"
            if not values:
                raise MistakeError(key, "nothing named; expected parameters with a value each")
            for name, value in values.items():
                self._check_named(key, name, value)
        defaults = self.completed({})
        for position, values in enumerate(self.forbidden):
            if has_all(defaults, values):
                raise MistakeError(
                    f"forbidden[{position}]",
                    "the defaults have these values, so that nothing could be run without tuning; "
                    "expected a default of one of the parameters that is allowed",
                )
        return self

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter by its full name, in the order of the YAML."""
        return {
            f"{kind}.{name}": parameter
            for kind in Kind
            for name, parameter in self.of_kind(kind).items()
        }

    def of_kind(self, kind: Kind) -> dict[str, Parameter]:
        """Return the parameters of one kind by their own names."""
        parameters: dict[str, Parameter] = getattr(self, kind)
        return parameters

    def order(self) -> list[str]:
        """Return the full names such that none comes before what its condition names."""
        parameters = self.parameters
        graph = {name: list(parameter.when) for name, parameter in parameters.items()}
        return list(TopologicalSorter(graph).static_order())

    def completed(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration by full name, with the defaults of what it does not name.

        What is not there by its condition is left out, also where it is named.
        """
        parameters, complete = self.parameters, dict[str, Any]()
        for name in self.order():
            if parameters[name].is_beside(complete):
                complete[name] = configuration.get(name, parameters[name].default)
        return complete

    def _check_named(self, key: str, name: str, value: Any) -> None:
        """Raise MistakeError unless `name` is a parameter that can be compared with `value`."""
        parameter = self.parameters.get(name)
        if parameter is None:
            known = ", ".join(self.parameters)
            raise MistakeError(
                key,
                f"unknown parameter {name!r}; {nearest(name, self.parameters)}"
                f"expected one of {known}",
            )
        if not parameter.is_countable:
            expected = "a parameter with `choices`, or one that is `whole`"
            raise InvalidValueError(key, name, expected)
        if not parameter.takes(value):
            raise InvalidValueError(f"{key}.{name}", value, parameter.format_values)


def has_all(configuration: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a configuration has each of `values`."""
    return all(
        name in configuration and same(configuration[name], value) for name, value in values.items()
    )


def _check_amounts(key: str, least: int | None, parameter: Parameter) -> None:
    """Raise MistakeError unless all values are numbers above 0, or whole ones from `least` on."""
    if parameter.choices is None and least is not None and not parameter.whole:
        raise InvalidValueError(f"{key}.whole", False, "true: it is a count")
    place, values = "choices", parameter.choices
    if values is None:
        place, values = "low", [parameter.low]
    for value in values:
        fits = not isinstance(value, bool) and isinstance(value, int | float)
        if fits and least is not None:
            fits = value >= least and value == int(value)
        if not fits or value < 0 or (least is None and value == 0):
            expected = "numbers above 0" if least is None else f"whole numbers of at least {least}"
            raise InvalidValueError(f"{key}.{place}", value, expected)
