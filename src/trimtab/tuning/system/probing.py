"""PipeTune within one trial: the settings of each epoch, chosen while it trains.

Algorithm 5 of the thesis, `tuneSystem`: the first epoch is profiled. A job like a known one
continues with that one's best settings. Another one probes settings, each for an epoch, and then
takes the best. The published rule minimises time or energy of an epoch, which is right for a single
trial.

With several trials, we minimise the time until all of them are done. Settings that take a share of
the machine allow 1 / share trials at once, so all take

    time of an epoch x max(1, trials x share)

This is the published rule for one trial, and processor time for many. Energies add up in any case
and are compared directly.

Without knowledge, a trial begins with the largest settings that leave room for all, or the default
ones if it is alone. This is right for programs that gain from every processor, and for those that
gain from none.

Four more rules are ours. A probe differs in as few parameters as possible from the best settings so
far: values of single parameters are soon probed, their combinations are not. Trials of a search
share probes at once, so a later one begins with the best so far. At most a share of a trial's
epochs are probes. The first epoch of a program, its warm-up, gives the cost of a setting only until
a later epoch does. Among settings whose costs differ by less than two epochs do, those with the
fewest cores win.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.config.groups.objective import Least
from trimtab.records.tuning.ground_truth import EventProfile, RelativeCost
from trimtab.tuning.system.ground_truth import GroundTruth, GroundTruthJob, Key, key_of
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.system_tuner import MeasuredEpoch, ResourceView, Settings

_ALIKE = 1.1  # ratio of times of two epochs under equal settings
_CPU_MS = "epoch_cpu_ms"  # a counter that tells large jobs from small ones


@dataclass
class Shared:
    """The shared state of a search's trials: the ground truth, and the last matching job.

    `least` is the quantity to minimise; `probing_share` the largest share of a trial's epochs that
    are probes; `on_learnt` is called with jobs of which something new is known. `before` are the
    ids of the jobs known before the search began: by default all present ones.
    """

    truth: GroundTruth
    least: Least = Least.TIME
    probing_share: float = 0.5
    on_learnt: Callable[[GroundTruthJob], None] = lambda job: None
    latest: GroundTruthJob | None = field(default=None)
    before: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.before is None:
            self.before = frozenset(job.id for job in self.truth.jobs)


class ProbingTuner:
    """Steers one trial. `candidates` are its possible settings, the default ones first."""

    def __init__(self, candidates: Sequence[Settings], shared: Shared) -> None:
        if not candidates:
            raise ValueError("no settings to probe; expected the default ones at least")
        self._candidates, self._shared = candidates, shared
        self._settings = self._default = candidates[0]
        self._job: GroundTruthJob | None = None
        self._unit: tuple[float, float | None] | None = None  # units of the job's costs: s and J
        self._epochs = self._probed = 0
        self._is_known = False
        self._probes: tuple[GroundTruthJob, Key] | None = None  # the probe under way
        self._never_set: frozenset[str] = frozenset()  # whatever their value, defaults included

    @property
    def report(self) -> Mapping[str, int]:
        """The number of probes, and whether the trial's job was known before."""
        return {"epochs_probed": self._probed, "known": int(self._is_known)}

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return the next epoch's settings: a probe, or the best known ones."""
        job = self._job or self._shared.latest
        probe = None if outlook.starts or job is None else self._probe(job, outlook)
        if job is not None and probe is not None:
            self._probes = job, key_of(probe)
            job.probing.add(key_of(probe))
            self._probed += 1
        self._settings = probe or self._best(job, outlook)
        return self._settings

    def best(self, machine: ResourceDemand) -> Settings:
        """Return the best settings for a single trial on the machine."""
        job = self._job or self._shared.latest
        return self._best(job, ResourceView(1, machine, machine, starts=True))

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Record the cost of an epoch under the settings, for all trials of the search."""
        self._epochs += 1
        if self._job is None:
            self._job = self._recognised(_counts_of(epoch))
        self._shared.latest = self._job
        self.ended()
        if self._settings == self._default:
            self._never_set = epoch.not_set
        elif epoch.not_set - self._never_set:  # its cost is not that of these settings
            self._candidates = [one for one in self._candidates if one != self._settings]
            return
        energy_j = None if epoch.energy_j is None else epoch.energy_j / epoch.work_epochs
        self._learn(epoch.wall_s / epoch.work_epochs, energy_j, warm=not epoch.is_first)

    def ran_out_of_memory(self) -> bool:
        """Drop the settings from the candidates; return whether others are left."""
        self.ended()
        left = [one for one in self._candidates if one != self._settings]
        least_gib = self._settings.get("memory_gib", 0)
        left = [one for one in left if one.get("memory_gib", 0) > least_gib]
        if left:
            self._candidates = left
        return bool(left)

    def ended(self) -> None:
        """Release an unfinished probe to other trials."""
        if self._probes is not None:
            job, key = self._probes
            job.probing.discard(key)
            self._probes = None

    def _probe(self, job: GroundTruthJob, outlook: ResourceView) -> Settings | None:
        """Return settings that no trial has probed, near the best; the default ones last."""
        too_many = self._probed + 1 > self._shared.probing_share * (self._epochs + 1)
        if too_many or self._unit is None:
            return None
        best = self._best(job, outlook)
        others = [one for one in self._candidates if one != best]
        nearest = min((_differing(one, best) for one in others), default=0)
        for settings in (*self._candidates[1:], self._candidates[0]):
            key = key_of(settings)
            known = job.costs.get(key)
            is_open = (known is None or not known.warm) and key not in job.probing
            is_near = _differing(settings, best) == nearest
            if is_near and is_open and _demand(settings, outlook).fits_in(outlook.room):
                return settings
        return None

    def _best(self, job: GroundTruthJob | None, outlook: ResourceView) -> Settings:
        """Return the best settings of known cost, or the trial's equal share without any."""
        costs = {} if job is None else job.costs
        known = [one for one in self._candidates if key_of(one) in costs]
        fitting = [one for one in known if _demand(one, outlook).fits_in(outlook.room)]
        if not known and outlook.starts:
            return self._equal_share(outlook)
        if not outlook.starts and not fitting:
            return self._settings  # its current ones
        priced = {
            key_of(one): self._cost_of_all(costs[key_of(one)], outlook) for one in fitting or known
        }
        least = min(priced.values())
        # The first with the fewest cores: a random choice would make jobs begin under settings that
        # no other job was profiled under.
        near = [one for one in fitting or known if priced[key_of(one)] <= _ALIKE * least]
        return min(near, key=lambda one: _demand(one, outlook).cores)

    def _equal_share(self, outlook: ResourceView) -> Settings:
        """Return the largest settings that all waiting trials could have at once."""
        demands = [(one, _demand(one, outlook)) for one in self._candidates]
        least = min(demand.share_of(outlook.machine) for _, demand in demands)
        most = max(1 / outlook.waiting, least)
        fair = [one for one in demands if one[1].share_of(outlook.machine) <= most]
        return max(fair, key=lambda one: (one[1].cores, one[1].memory_gib))[0]

    def _cost_of_all(self, cost: RelativeCost, outlook: ResourceView) -> float:
        if self._shared.least == Least.ENERGY and cost.energy is not None:
            return cost.energy
        share = _demand(cost.settings, outlook).share_of(outlook.machine)
        return cost.time * max(1.0, outlook.waiting * share)

    def _recognised(self, counts: Mapping[str, float]) -> GroundTruthJob:
        """Return the job that matches the trial's: a known one, its search's, or a new one.

        The search's job is the same program: without a profile under these settings, it matches.
        `counts` are the counters of an epoch.
        """
        shared, key = self._shared, key_of(self._settings)
        match = shared.truth.match(counts, self._settings)
        if match is not None and match.is_alike:
            job = match.job
        else:
            job = shared.latest or shared.truth.new_job()
            if key in job.profiles:
                job = shared.truth.new_job()
            job.profiles[key] = EventProfile(dict(self._settings), dict(counts))
        self._is_known = shared.before is not None and job.id in shared.before
        return job

    def _learn(self, time_s: float, energy_j: float | None, *, warm: bool) -> None:
        """Record the cost of the settings, in the job's unit, if it is new."""
        assert self._job is not None
        costs, key = self._job.costs, key_of(self._settings)
        known = costs.get(key)
        if self._unit is None and not costs:
            self._unit = (time_s, energy_j)
        elif self._unit is None and known is not None and known.warm == warm and known.time > 0:
            per_energy = energy_j / known.energy if energy_j and known.energy else None
            self._unit = (time_s / known.time, per_energy)
        if self._unit is None or not self._unit[0] or (known and known.warm >= warm):
            return
        energy = energy_j / self._unit[1] if energy_j and self._unit[1] else None
        costs[key] = RelativeCost(dict(self._settings), time_s / self._unit[0], energy, warm)
        self._shared.on_learnt(self._job)


def _counts_of(epoch: MeasuredEpoch) -> dict[str, float]:
    """Return an epoch's counters, scaled to all data.

    Counts per epoch depend less on hyperparameters than rates: with small batches, a program writes
    as much in a longer time.
    """
    cpu_s = epoch.cpu_s / epoch.work_epochs
    return {**{name: rate * cpu_s for name, rate in epoch.rates.items()}, _CPU_MS: cpu_s * 1000}


def _differing(one: Settings, other: Settings) -> int:
    """Return the number of parameters with different values."""
    return len(one.items() - other.items())


def _demand(settings: Settings, outlook: ResourceView) -> ResourceDemand:
    return ResourceDemand.of(settings, outlook.machine.cores)
