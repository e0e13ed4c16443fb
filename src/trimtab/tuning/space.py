"""The search space: Optuna's distributions, conditions and forbidden sets.

Optuna has no conditions. Parameters are suggested one by one, those that conditions name first;
inactive ones are skipped. It has no forbidden sets either. A forbidden configuration is suggested
again (study.py); after many attempts, one is drawn from a list of allowed ones, which this module
makes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from trimtab.config.groups.tuning import Kind, Tuning, has_all
from trimtab.config.parameter import Parameter
from trimtab.config.validate import nearest
from trimtab.errors import UserError

# The values of active parameters, by full names such as `training.batch_size`.
Configuration = dict[str, Any]
_MOST_STEPS = 200_000  # of listing configurations: a few seconds


class SearchSpace:
    """The parameters of some kinds; those of other kinds have their defaults.

    `names` are the full names of the searched ones, each after those in its condition;
    `distributions` are Optuna's, of all parameters.
    """

    def __init__(self, tuning: Tuning, kinds: Iterable[Kind] = tuple(Kind)) -> None:
        self.tuning = tuning
        self.kinds = [kind for kind in Kind if kind in set(kinds)]
        self.parameters = tuning.parameters
        self.distributions = {name: _distribution(one) for name, one in self.parameters.items()}
        self._order = _forbidden_first(tuning)
        self.names = [name for name in self._order if name.partition(".")[0] in self.kinds]

    def of(self, kinds: Iterable[Kind]) -> "SearchSpace":
        """Return the space of these kinds; raises UserError where they have no parameters."""
        space = SearchSpace(self.tuning, kinds)
        if not space.names:
            raise UserError(
                f"tuning: nothing to search: no parameter of the kind {' or '.join(space.kinds)}; "
                f"there are: {', '.join(self.parameters)}"
            )
        return space

    @property
    def is_countable(self) -> bool:
        """Whether all its configurations can be listed."""
        return all(self.parameters[name].is_countable for name in self.names)

    def check(self, fixed: Mapping[str, Any]) -> None:
        """Raise UserError unless each value in `fixed` is valid for its parameter."""
        for name, value in fixed.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                hint = nearest(name, self.parameters)
                raise UserError(f"tuning: unknown parameter {name!r}; {hint}there are: {known}")
            if not self.parameters[name].takes(value):
                expected = self.parameters[name].format_values
                raise UserError(f"tuning: {name}: {value!r} given, expected {expected}")

    def configuration(
        self, value_of: Callable[[str], Any], fixed: Mapping[str, Any]
    ) -> Configuration:
        """Return the configuration with `fixed` values; `value_of` gives the others.

        `value_of` is called for each active parameter, in the order of `names`. Fixed values of
        inactive parameters are left out.
        """
        configuration, beside = Configuration(), Configuration()
        for name in self._order:
            if not self.parameters[name].is_beside(beside):
                continue
            if name in fixed:
                configuration[name] = fixed[name]
            elif name in self.names:
                configuration[name] = value_of(name)
            beside[name] = configuration.get(name, self.parameters[name].default)
        return configuration

    def allows(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a configuration, completed by defaults, contains no forbidden set."""
        return self._allows(self.tuning.completed(configuration))

    def listed(self, fixed: Mapping[str, Any]) -> Iterator[Configuration]:
        """Yield every allowed configuration once, as `configuration` returns them.

        Continuous parameters are left out. Raises UserError where forbidden sets make the search
        for allowed configurations too long.
        """
        steps = 0

        def below(depth: int, beside: Configuration) -> Iterator[Configuration]:
            nonlocal steps
            steps += 1
            if steps > _MOST_STEPS:
                raise UserError(
                    "tuning.forbidden: what is allowed could not be listed in time; forbid less, "
                    "or give less choice"
                )
            if not self._allows(beside):
                return
            if depth == len(self._order):
                yield {name: beside[name] for name in beside if name in self.names or name in fixed}
                return
            name = self._order[depth]
            if not self.parameters[name].is_beside(beside):
                yield from below(depth + 1, beside)
                return
            for value in self._values(name, fixed):
                yield from below(depth + 1, {**beside, **value})

        yield from below(0, {})

    def _values(self, name: str, fixed: Mapping[str, Any]) -> Iterator[Configuration]:
        """Yield the possible values of an active parameter, with its name."""
        parameter = self.parameters[name]
        if name in fixed:
            yield {name: fixed[name]}
        elif name not in self.names:
            yield {name: parameter.default}
        elif parameter.choices is not None:
            yield from ({name: choice} for choice in parameter.choices)
        elif parameter.whole:
            assert parameter.low is not None and parameter.high is not None
            yield from ({name: n} for n in range(int(parameter.low), int(parameter.high) + 1))
        else:
            yield {}

    def _allows(self, complete: Mapping[str, Any]) -> bool:
        return not any(has_all(complete, values) for values in self.tuning.forbidden)


def suggested(trial: Any, name: str, distribution: BaseDistribution) -> Any:
    """Return the suggestion of Optuna's `trial` for a parameter."""
    match distribution:
        case CategoricalDistribution(choices=choices):
            return trial.suggest_categorical(name, choices)
        case IntDistribution(low=low, high=high, log=log):
            return trial.suggest_int(name, low, high, log=log)
    return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)


def _distribution(parameter: Parameter) -> BaseDistribution:
    if parameter.choices is not None:
        return CategoricalDistribution(parameter.choices)
    assert parameter.low is not None and parameter.high is not None
    if parameter.whole:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


def _forbidden_first(tuning: Tuning) -> list[str]:
    """Return all full names, each after those in its condition.

    Parameters of forbidden sets come first, so listing rejects forbidden configurations early.
    """
    order, decisive = tuning.order(), {name for values in tuning.forbidden for name in values}
    for name in reversed(order):
        if name in decisive:
            decisive.update(tuning.parameters[name].when)
    return sorted(order, key=lambda name: name not in decisive)
