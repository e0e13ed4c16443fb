"""PipeTune within one trial: what it runs under in each epoch, while its training goes on.

Algorithm 5 of the thesis, `tuneSystem`: the first epoch is profiled; a job like a known one goes on
with that one's best settings; another is given settings to probe, each for an epoch, and then the
best of them. Published, the best one has the least time, or energy, of an epoch. That is right for
a trial that is alone.

Ours, where several trials could run: what counts is the time until all of them are done. Settings
that take a share of the machine leave room for 1 / share trials at once, so that all take

    time of an epoch x max(1, trials x share)

which is the published rule for one trial, and the time of processors for many. Energies add up
whatever runs at once, and are compared as they are.

Where nothing is known a trial begins with the largest settings that leave room for all, the default
ones where it is alone: right for a program that gains from every processor as for one that gains
from none.

Ours, too: what is probed differs in one parameter from the best so far (or in as few as can be), as
the sum of what each parameter has to offer is soon probed, and their product is not; what a trial
probes is known to the others of its search at once, so a later one begins with what is best so far;
at most a share of a trial's epochs are probes; and the first epoch of a program, in which it warms
up, says what a setting costs only until a later one has. Of settings whose costs differ by less
than those of two epochs do, it is those with the fewest cores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.config.groups.objective import Least
from trimtab.records.tuning.ground_truth import EventProfile, RelativeCost
from trimtab.tuning.system.ground_truth import GroundTruth, GroundTruthJob, Key, key_of
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.system_tuner import MeasuredEpoch, ResourceView, Settings

_ALIKE = 1.1  # an epoch's time varies by as much from one to the next
_CPU_MS = "epoch_cpu_ms"  # among the counters: by it large jobs differ from small ones


@dataclass
class Shared:
    """What the trials of one search share: the ground truth, and the job that one was like last.

    `least` is what settings are chosen by; `probing_share` the largest share of a trial's epochs
    that are probes; `on_learnt` hears of jobs of which something new is known. `before` are the ids
    of the jobs that were known before the search began: by default all that are now.
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
    """Steers one trial. `candidates` are the settings that it may have, the default ones first."""

    def __init__(self, candidates: Sequence[Settings], shared: Shared) -> None:
        if not candidates:
            raise ValueError("no settings to probe; expected the default ones at least")
        self._candidates, self._shared = candidates, shared
        self._settings = self._default = candidates[0]
        self._job: GroundTruthJob | None = None
        self._unit: tuple[float, float | None] | None = None  # of the job's costs: s and J
        self._epochs = self._probed = 0
        self._is_known = False
        self._probes: tuple[GroundTruthJob, Key] | None = None  # under way
        self._never_set: frozenset[str] = frozenset()  # not even the default: no matter which

    @property
    def report(self) -> Mapping[str, int]:
        """How many of the epochs were probes, and whether the trial's job was known before."""
        return {"epochs_probed": self._probed, "known": int(self._is_known)}

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return what the next epoch runs under: a probe, or the best of what is known."""
        job = self._job or self._shared.latest
        probe = None if outlook.starts or job is None else self._probe(job, outlook)
        if job is not None and probe is not None:
            self._probes = job, key_of(probe)
            job.probing.add(key_of(probe))
            self._probed += 1
        self._settings = probe or self._best(job, outlook)
        return self._settings

    def best(self, machine: ResourceDemand) -> Settings:
        """Return the best settings for a trial that is alone on the machine."""
        job = self._job or self._shared.latest
        return self._best(job, ResourceView(1, machine, machine, starts=True))

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Take in what the epoch under the settings took; others know it from here on."""
        self._epochs += 1
        if self._job is None:
            self._job = self._recognised(_counts_of(epoch))
        self._shared.latest = self._job
        self.ended()
        if self._settings == self._default:
            self._never_set = epoch.not_set
        elif epoch.not_set - self._never_set:  # it says nothing of what these settings cost
            self._candidates = [one for one in self._candidates if one != self._settings]
            return
        energy_j = None if epoch.energy_j is None else epoch.energy_j / epoch.work_epochs
        self._learn(epoch.wall_s / epoch.work_epochs, energy_j, warm=not epoch.is_first)

    def ran_out_of_memory(self) -> bool:
        """Take the settings out of the candidates; without others the trial is to fail."""
        self.ended()
        left = [one for one in self._candidates if one != self._settings]
        least_gib = self._settings.get("memory_gib", 0)
        left = [one for one in left if one.get("memory_gib", 0) > least_gib]
        if left:
            self._candidates = left
        return bool(left)

    def ended(self) -> None:
        """Leave what it probes, if it does, to others: what it cost is known, or never will be."""
        if self._probes is not None:
            job, key = self._probes
            job.probing.discard(key)
            self._probes = None

    def _probe(self, job: GroundTruthJob, outlook: ResourceView) -> Settings | None:
        """Return what no trial has probed or is probing, near the best; the default ones last."""
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
        """Return the best settings whose cost is known, or the trial's share where none is."""
        costs = {} if job is None else job.costs
        known = [one for one in self._candidates if key_of(one) in costs]
        fitting = [one for one in known if _demand(one, outlook).fits_in(outlook.room)]
        if not known and outlook.starts:
            return self._equal_share(outlook)
        if not outlook.starts and not fitting:
            return self._settings  # which it has
        priced = {
            key_of(one): self._cost_of_all(costs[key_of(one)], outlook) for one in fitting or known
        }
        least = min(priced.values())
        # The first of those with the fewest cores: chance would have jobs begin under settings
        # under which no other one was profiled.
        near = [one for one in fitting or known if priced[key_of(one)] <= _ALIKE * least]
        return min(near, key=lambda one: _demand(one, outlook).cores)

    def _equal_share(self, outlook: ResourceView) -> Settings:
        """Return the largest settings that all trials that wait could have at once."""
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
        """Return the job that the trial's is like: a known one, that of its search, or a new one.

        The search's is the same program: where there is no profile of it under these settings yet,
        it is taken for alike. `counts` are what a profile says of an epoch.
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
        """Keep what the settings cost, in the unit of the job, if that is news."""
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
    """Return what an epoch counted, as of one over all data.

    What a program does in an epoch depends less on its hyperparameters than what it does in a
    second: with small batches the same is written in a longer time.
    """
    cpu_s = epoch.cpu_s / epoch.work_epochs
    return {**{name: rate * cpu_s for name, rate in epoch.rates.items()}, _CPU_MS: cpu_s * 1000}


def _differing(one: Settings, other: Settings) -> int:
    """Return the number of parameters that have other values."""
    return len(one.items() - other.items())


def _demand(settings: Settings, outlook: ResourceView) -> ResourceDemand:
    return ResourceDemand.of(settings, outlook.machine.cores)
