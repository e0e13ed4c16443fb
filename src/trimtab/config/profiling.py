"""How often and how finely runs are measured."""

from dataclasses import dataclass, field

from trimtab.config.fields import about, check_number


@dataclass
class Profiling:
    """The measured runs of the stage `profile`."""

    repeats: int = field(default=3, metadata=about("Measured runs of each workload."))
    traced_runs: int = field(
        default=3,
        metadata=about(
            "Runs in which functions are traced; all that any of them used is kept. Which code a "
            "run takes may hang on chance, such as the alignment of a buffer."
        ),
    )
    sample_interval_s: float = field(
        default=1.0, metadata=about("Time between two readings of the counters.", unit="s")
    )

    def __post_init__(self) -> None:
        check_number("repeats", self.repeats, minimum=1)
        check_number("traced_runs", self.traced_runs, minimum=1)
        check_number("sample_interval_s", self.sample_interval_s, minimum=0.01)


@dataclass
class Verify:
    """The runs that compare the original environment with the slim one."""

    repeats: int = field(
        default=5, metadata=about("Runs of each workload in each environment, in turn.")
    )

    def __post_init__(self) -> None:
        check_number("repeats", self.repeats, minimum=1)
