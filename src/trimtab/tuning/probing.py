"""PipeTune within one trial: what it runs under in each epoch, while its training goes on.

Algorithm 5 of the thesis, `tuneSystem`: the first epoch is profiled under the default settings; a
job like a known one goes on with that one's best settings; another is given each of the settings
for an epoch, and then the best of them.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from trimtab.tuning.ground_truth import GroundTruth
from trimtab.tuning.steering import MeasuredEpoch, Settings

Phase = StrEnum("Phase", "PROFILING PROBING KNOWN BEST")


class SystemTuner:
    """The settings of a trial's epochs: those of `settings` are asked for before each one.

    `candidates` are the settings to probe, the default ones first. `ground_truth` is shared by all
    trials, and knows this one's job once it was probed.
    """

    def __init__(
        self,
        candidates: Sequence[Settings],
        ground_truth: GroundTruth,
        on_probed: Callable[[], None] = lambda: None,
    ) -> None:
        if not candidates:
            raise ValueError("no settings to probe; expected the default ones at least")
        self.settings: Settings = candidates[0]
        self.phase = Phase.PROFILING
        self._left = list(candidates[1:])
        self._costs: list[tuple[float, Settings]] = []
        self._rates: Mapping[str, float] = {}
        self._ground_truth, self._on_probed = ground_truth, on_probed

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Take in what the epoch under `settings` gave; `settings` are then the next one's.

        A failure of the probed settings is an epoch of infinite cost.
        """
        if self.phase == Phase.PROFILING:
            self._rates = epoch.rates
            match = self._ground_truth.match(epoch.rates)
            if match is not None and match.is_alike:
                self.phase, self.settings = Phase.KNOWN, match.job.settings
                return
            self.phase = Phase.PROBING
        if self.phase != Phase.PROBING:
            return
        self._costs.append((epoch.cost / epoch.work_epochs, self.settings))
        if self._left:
            self.settings = self._left.pop(0)
            return
        self.settings = min(self._costs, key=lambda one: one[0])[1]
        self.phase = Phase.BEST
        self._ground_truth.learn(self._rates, self.settings)
        self._on_probed()
