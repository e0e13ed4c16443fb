"""What learning workloads are characterized over: one YAML in `conf/characterization/`."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    CountOrNone,
    InvalidValueError,
    Name,
    NotNegative,
    Positive,
    Runs,
    RunsOrNone,
    Scalar,
    SomeNames,
    SomeParts,
    Text,
    about,
    satisfying,
)
from trimtab.config.groups.learning.workload import Method

# The platform parameters and their defaults: Spark's own, but for executors and their size.
PLATFORM_DEFAULTS: dict[str, Any] = {
    "executors": 1,
    "cores": 2,
    "memory_mib": 1024,
    "parallelism": 2,
    "shuffle_compress": True,
    "serializer": "java",
    "locality_wait_s": 3.0,
    "memory_fraction": 0.6,
    "broadcast_block_mib": 4,
}
SERIALIZERS = ("java", "kryo")
OWN_MASTERS = ("local", "standalone")  # those that we start, and end
_AT_LEAST = {"executors": 1, "cores": 1, "memory_mib": 512, "parallelism": 1,
             "broadcast_block_mib": 1, "locality_wait_s": 0}  # fmt: skip


def _all_differ(levels: list[Any]) -> bool:
    return len({repr(level) for level in levels}) == len(levels)


Levels = Annotated[
    list[Scalar],
    satisfying(len, "at least one level, the default first"),
    satisfying(_all_differ, "every level once"),
]


@dataclass(config=CHECKED)
class PriceModel:
    """What an operator would be charged, as in Rocha's thesis, section 5.3.4: a model."""

    usd_per_hour: NotNegative = about("Of one instance.", default=0.46, unit="USD/h")
    instance_cores: SomeParts = about("Cores of an instance; parts cost their share.", default=8)
    usd_per_gb: NotNegative = about("Of sent data, per 10^9 bytes.", default=0.05, unit="USD/GB")


@dataclass(config=CHECKED)
class Characterization:
    """Workloads on Spark, and their varied parameters."""

    group: ClassVar[str] = "characterization"
    name: Name = about("The file's stem.")
    workloads: SomeNames = about("Files in `conf/learning/`.")
    master: Text = about(
        "Where Spark runs: `local` (one process), `standalone` (a cluster on the loopback "
        "interface), or a master's URL, as `spark://host:7077`.",
        default="local",
    )
    platform: dict[str, Levels] = about(
        f"Levels of platform parameters, the default first: {', '.join(PLATFORM_DEFAULTS)}. "
        "Others have Spark's defaults.",
        factory=dict,
    )
    hyperparameters: dict[Method, dict[str, Levels]] = about(
        "Levels of [hyperparameters](../methods/characterization.md) by method, the default first.",
        factory=dict,
    )
    repeats: Runs = about("Runs of each setting, each with its seed.", default=3)
    warm_up_runs: RunsOrNone = about(
        "Unrecorded, slower first runs of each workload in a Spark session.",
        default=1,
    )
    joint_settings: CountOrNone = about(
        "Settings of each strategy (platform, hyperparameters, both) that vary parameters of high "
        "impact together.",
        default=8,
    )
    longest_run_s: Positive = about(
        "A longer run is ended and has failed.", default=600.0, unit="s"
    )
    sample_interval_s: Annotated[float, Field(ge=0.05, le=60)] = about(
        "Time between readings of memory and power.", default=1.0, unit="s"
    )
    price: PriceModel = about("The charge for training.", factory=PriceModel)

    @model_validator(mode="after")
    def _has_parameters_that_there_are(self) -> Self:
        for name, levels in self.platform.items():
            for level in levels:
                expected = _platform_problem(name, level)
                if expected:
                    raise InvalidValueError(f"platform.{name}", level, expected)
        for method, parameters in self.hyperparameters.items():
            for name, levels in parameters.items():
                for level in levels:
                    expected = _hyperparameter_problem(method, name, level)
                    if expected:
                        key = f"hyperparameters.{method}.{name}"
                        raise InvalidValueError(key, level, expected)
        return self


def _platform_problem(name: str, level: Any) -> str:
    """Return what was expected of a level, or an empty text where it is that."""
    if name not in PLATFORM_DEFAULTS:
        return f"a parameter: one of {', '.join(PLATFORM_DEFAULTS)}"
    if name == "serializer":
        return "" if level in SERIALIZERS else f"one of {', '.join(SERIALIZERS)}"
    if problem := _type_problem(PLATFORM_DEFAULTS[name], level):
        return problem
    if name == "memory_fraction":
        return "" if 0.1 <= level <= 0.9 else "a share, 0.1 to 0.9"
    least = _AT_LEAST.get(name)
    return f"at least {least}" if least is not None and not least <= level <= 1e6 else ""


def _hyperparameter_problem(method: Method, name: str, level: Any) -> str:
    known = method.hyperparameters
    if name not in known:
        return f"a hyperparameter of {method}: one of {', '.join(known)}"
    if problem := _type_problem(known[name], level):
        return problem
    return "" if 0 <= level <= 1e6 else "from 0 to a million"


def _type_problem(default: Any, level: Any) -> str:
    if isinstance(default, bool):
        return "" if isinstance(level, bool) else "true or false"
    if isinstance(level, bool) or not isinstance(level, int | float):
        return "a number"
    return "" if isinstance(default, float) or isinstance(level, int) else "a whole number"
