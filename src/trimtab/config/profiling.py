"""How often and how finely runs are measured."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Count, Number, about


@dataclass(config=CHECKED)
class Profiling:
    """The measured runs of the stage `profile`."""

    repeats: Count = about("Measured runs of each workload.", default=3)
    traced_runs: Count = about(
        "Runs in which functions are traced, each with other CPUs, threads and caches; all that "
        "any of them used is kept. Three see a program on one CPU and on several, with cold caches "
        "and with warm ones.",
        default=3,
    )
    sample_interval_s: Annotated[Number, Field(ge=0.01)] = about(
        "Time between two readings of the counters.", default=1.0, unit="s"
    )


@dataclass(config=CHECKED)
class Verify:
    """The runs that compare the original environment with the slim one."""

    repeats: Count = about("Runs of each workload in each environment, in turn.", default=5)
