"""How samples arrive at a model that is used: part of a workload's key `tuning`."""

from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Count, MistakeError, Positive, about


@dataclass(config=CHECKED)
class ScenarioConfig:
    """A server that is asked about many samples at once, or a stream of single ones.

    Thesis, section 7.3.4: the first has `samples` and `period_s`, the second `samples_per_s`.
    """

    samples: Count | None = about("Samples in each query to a server.", default=None)
    period_s: Positive | None = about("Time between queries.", default=None, unit="s")
    samples_per_s: Positive | None = about(
        "Rate of single samples, a Poisson process.",
        default=None,
        unit="1/s",
    )

    @model_validator(mode="after")
    def _is_one_scenario(self) -> Self:
        queries = (self.samples is not None, self.period_s is not None)
        if any(queries) == (self.samples_per_s is not None) or any(queries) != all(queries):
            raise MistakeError(
                "samples", "expected either `samples` with `period_s`, or `samples_per_s` alone"
            )
        return self
