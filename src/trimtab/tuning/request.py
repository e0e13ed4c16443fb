"""The request to the stage `tune`."""

import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import Tuning
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import TuneStage
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.profile import model_of
from trimtab.tuning.characterized import parameters_without_impact
from trimtab.tuning.earlier import earlier_trials
from trimtab.tuning.inference.emulation import Device, device_of
from trimtab.tuning.inference.known import KnownInference
from trimtab.tuning.inference.of_workload import machine_of
from trimtab.tuning.journal import TrialRecord
from trimtab.tuning.limits import NO_LIMITS, SearchLimits
from trimtab.tuning.narrowed import at_defaults
from trimtab.tuning.samplers import learns
from trimtab.tuning.scoring.score import of_inference
from trimtab.tuning.space import Configuration, SearchSpace
from trimtab.tuning.system.machine import machine_key
from trimtab.tuning.trials.program_digest import digest_of
from trimtab.tuning.tuners.base import Tuner, TunerInputs
from trimtab.tuning.tuners.registry import build_tuner


@dataclass(frozen=True)
class Request:
    """What to tune, by which tuner, for which objective, on which machine.

    Trials without `cores` have an equal share of this process' CPUs, for `workers` trials. The
    workload's `tuning` may name an `inference_workload`. `device` is its machine, if that is
    another one. `is_described`: the workload has a file in `conf/workload/`. `after` is the results
    folder of another tuner, whose knowledge this one begins with. `start_with` are the first
    trials' configurations. `learn_from` is the table of trials of an earlier search.
    """

    workload: Workload
    tuner: TunerConfig
    objective: Objective
    hardware: HardwareModel
    workers: int = 1
    inference_workload: Workload | None = None
    device: Device | None = None
    is_described: bool = True
    after: Path | None = None
    # No part of its identity: a search goes on where a limit is raised.
    limits: SearchLimits = field(default=NO_LIMITS, repr=False)
    start_with: tuple[Configuration, ...] = field(default=(), repr=False)
    learn_from: Path | None = field(default=None, repr=False)

    @classmethod
    def of(cls, stage: TuneStage, results: Path) -> Self:
        """Return the request of a stage; it is equal in all its jobs, as it identifies searches.

        `results` is the folder of its results, beside those of the tuner before it.
        """
        before, cell = stage.tuner.after, Path(*results.parts[-3:])
        return cls(
            stage.workload,
            stage.tuner,
            stage.objective,
            model_of(stage.hardware),
            stage.workers,
            stage.inference_workload,
            device_of(stage.inference_hardware, stage.hardware),
            after=None if before is None else results.parents[2].with_name(before) / cell,
        )

    @property
    def tuning(self) -> Tuning:
        """The workload's `tuning`, without parameters of no impact.

        Raises UserError where it has none, and as `parameters_without_impact`.
        """
        return at_defaults(self._asked, self.without_impact)

    @cached_property
    def without_impact(self) -> list[str]:
        """The full names of the parameters without impact, left at their defaults.

        Raises as `tuning`.
        """
        return parameters_without_impact(self._asked)

    @property
    def _asked(self) -> Tuning:
        if self.workload.tuning is None:
            raise UserError(
                f"workload {self.workload.name}: no key `tuning`, which names its parameters"
            )
        return self.workload.tuning

    @property
    def gpus(self) -> tuple[str, ...]:
        """The names of this machine's GPUs that the workload may use."""
        return Gpus({**os.environ, **self.workload.env}).uuids

    def searches(self, folder: Path) -> Path:
        """Return the folder of its searches, `seed_1` and so on, in the results `folder`.

        A changed program starts a new search, as does a new search `after` which this one runs.
        """
        workloads = [one for one in (self.workload, self.inference_workload) if one is not None]
        objective = replace(self.objective, bounds={})  # they choose from what is found
        said = [repr(replace(self, after=None, objective=objective)), *map(digest_of, workloads)]
        if self.after is not None:
            said.append(sha256_of(self.after / "trials.parquet"))
        if self.start_with:
            said.append(f"start_with {self.start_with}")
        if self.learn_from is not None:
            said.append(f"learn_from {sha256_of(self.learn_from)}")
        if self.limits.trials is not None:
            said.append(f"trials {self.limits.trials}")
        if self._asked.characterized is not None:
            said += self.without_impact
        return folder / "searches" / hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]

    def begins_with(self, ground_truth: Path) -> Path:
        """Return the initial ground truth: that of `after`, else its tuner's own."""
        return ground_truth if self.after is None else self.after.parents[2] / ground_truth.name

    def made(self, ground_truth: Path, known_before: Path | None = None) -> Tuner:
        """Return the tuner; raises UserError as its kind does, and `judged_by`.

        `known_before` is the ground truth at the search's start, where it has grown since.
        """
        facts = TunerInputs(
            tuning=self.tuning,
            cpus=len(os.sched_getaffinity(0)),
            machine=machine_key(self.hardware.name),
            least=self.objective.least,
            ground_truth=ground_truth,
            known_before=known_before,
            gpus=len(self.gpus),
        )
        try:
            made = build_tuner(self.tuner.kind, self.tuner.parameters, facts)
        except ValueError as error:
            raise UserError(f"tuner {self.tuner.name}: parameters: {error}") from None
        self.earlier(made, self.judged_by(made), SearchSpace(self.tuning), 1 + bool(made.first))
        return made if self.limits.trials is None else made.with_trials(self.limits.trials)

    def judged_by(self, made: Tuner) -> Objective:
        """Return the objective of the tuner's trials.

        Raises UserError where it is of inference, which the tuner does not measure.
        """
        if made.inference is not None or not (wanted := of_inference(self.objective)):
            return self.objective
        if made.score_without_inference is not None and not self.objective.others:
            return Objective(name="without_inference", score=made.score_without_inference)
        bohb = "" if self.objective.others else ", or, to search by the accuracy all the same, bohb"
        raise UserError(
            f"objective {self.objective.name}: score: {wanted[0]} is what inference costs, which "
            f"the tuner {self.tuner.name} does not measure; expected a tuner of the kind edgetune, "
            f"as conf/tuner/edgetune.yaml{bohb}"
        )

    def earlier(
        self, made: Tuner, objective: Objective, space: SearchSpace, fold: int
    ) -> list[TrialRecord]:
        """Return the trials of `learn_from` that are in the part of `space` that `made` searches.

        Raises UserError as `earlier_trials`, and where the tuner's algorithm does not learn.
        """
        if self.learn_from is None:
            return []
        if not learns(made.algorithm):
            raise UserError(
                f"tuner {self.tuner.name}: its algorithm {made.algorithm} learns from no trials;"
                " expected tpe, as of the tuner tpe"
            )
        return earlier_trials(self.learn_from, objective, space.of(made.searched), fold)

    def known_inference(self, path: Path) -> KnownInference:
        """Return the inference workload's measurements in `path`, here or on the device."""
        assert self.inference_workload is not None
        machine = machine_of(machine_key(self.hardware.name), self.device)
        return KnownInference(path, machine, digest_of(self.inference_workload))
