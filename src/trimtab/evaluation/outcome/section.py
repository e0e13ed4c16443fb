"""The outcome of each target in one sentence."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.outcome.weight import weigh
from trimtab.evaluation.report.blocks import Prose, prose
from trimtab.evaluation.report.section import TargetSection
from trimtab.records.outcome import EnvironmentOutcome, Outcome


class OutcomeInWords(TargetSection):
    """Each environment's sizes before and after, equal runs, and risk."""

    order = 5

    @property
    def applies(self) -> bool:
        """Whether any environment was built."""
        return any(target.built for target in self.measurements.targets)

    def done(self) -> Iterator[Prose]:
        """Yield a sentence for each target."""
        yield prose("outcome.html.j2", environments=outcome_of(self.measurements).environments)


def outcome_of(measurements: Measurements) -> Outcome:
    """Return the outcome of an experiment."""
    inputs = measurements.inputs
    return Outcome(
        experiment=inputs.experiment,
        title=inputs.title,
        environments=[environment for _, environment in weighed(measurements)],
    )


def weighed(measurements: Measurements) -> Iterator[tuple[DebloatedTarget, EnvironmentOutcome]]:
    """Yield each target whose slim environment was built, with its outcome."""
    for target in measurements.targets:
        if target.built is not None:
            found = (target.libraries, target.built, target.compressed, target.verdict)
            yield target, weigh(target.manifest, *found, label=target.label)
