"""The stages that change a queue, and the settings of an ablation: which of them are on."""

from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd

from trimtab.batch.images import ImageStart
from trimtab.batch.interruptions.preemption import Preemption
from trimtab.batch.interruptions.spot import Spot
from trimtab.batch.operation import AS_THEY_ARE, Operation
from trimtab.batch.policies.base import BatchPolicy
from trimtab.batch.sleep import Sleep
from trimtab.worth.fleet_images import DEFAULTS, Assumed, FleetImage, Side


class Stage(StrEnum):
    """A change of the cluster; its name as shown."""

    SLIM = "slim images"  # pull and unpacking
    START = "quick starts"  # of slim images on a node that has them
    TUNED = "tuned jobs"
    POLICY = "policy"
    NODES = "switched nodes"


@dataclass(frozen=True)
class Plan:
    """A cluster's images, and what it does now and with each stage.

    `policies`: now, and with the stage POLICY. `sleep` and `operation` count with the stage NODES.
    In all settings, nodes of `spots` are reclaimed, and jobs interrupted by `preemption`.
    """

    images: Mapping[str, FleetImage]
    policies: tuple[BatchPolicy, BatchPolicy | None]
    sleep: Sleep | None = None
    operation: Operation = AS_THEY_ARE
    assumed: Assumed = DEFAULTS
    spots: tuple[Spot, ...] = ()
    preemption: Preemption | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that there are figures for, or that were asked for."""
        slim = [each for each in self.images.values() if each.slim is not None]
        there = {
            Stage.SLIM: bool(slim),
            Stage.START: any(
                each.slim is not None and each.slim.warm_s != each.original.warm_s for each in slim
            ),
            Stage.TUNED: any(each.tuned_run_share is not None for each in self.images.values()),
            Stage.POLICY: self.policies[1] is not None,
            Stage.NODES: self.sleep is not None or self.operation.autoscale is not None,
        }
        return tuple(stage for stage in Stage if there[stage])

    @property
    def autoscale(self) -> Mapping[str, Sleep] | None:
        """How the stage NODES switches nodes; these are on now, and so in the beginning."""
        given = self.operation.autoscale
        if given is None:
            return None
        return {name: each._replace(begins_on=True) for name, each in given.items()}

    @property
    def has_sizes(self) -> bool:
        """Whether the size of each image is known, and that of each slim one."""
        sides = (side for each in self.images.values() for side in (each.original, each.slim))
        return all(side is None or side.size_bytes is not None for side in sides)

    @property
    def shares_layers(self) -> bool:
        """Whether the layers of any image are known."""
        sides = (side for each in self.images.values() for side in (each.original, each.slim))
        return any(side is not None and side.layers is not None for side in sides)

    def side(self, image: str, stages: Iterable[Stage]) -> Side:
        """Return an image as it is with some stages."""
        on, of_image = set(stages), self.images[image]
        side, slim = of_image.original, of_image.slim
        if slim is not None and Stage.SLIM in on:
            side = slim._replace(warm_s=side.warm_s, snapshot_s=0.0)
        if slim is not None and Stage.START in on:
            side = side._replace(warm_s=slim.warm_s, snapshot_s=slim.snapshot_s)
        return side

    def only(self, names: Collection[str]) -> "Plan":
        """Return the plan of the images of these names alone."""
        return replace(self, images={k: v for k, v in self.images.items() if k in names})

    def starts(self, stages: Iterable[Stage]) -> dict[str, ImageStart]:
        """Return the starts of all images with some stages."""
        sides = {name: self.side(name, stages) for name in self.images}
        return {
            name: ImageStart(
                each.fetch_s + each.warm_s + each.snapshot_s + each.restore_s,
                each.warm_s + each.restore_s,
                None if each.size_bytes is None else round(each.size_bytes),
                each.layers,
            )
            for name, each in sides.items()
        }

    def policy(self, stages: Iterable[Stage]) -> BatchPolicy:
        """Return a copy of the policy with some stages: it may keep state of its queue."""
        now, then = self.policies
        return deepcopy(then if then is not None and Stage.POLICY in set(stages) else now)

    def jobs(self, jobs: pd.DataFrame, stages: Iterable[Stage]) -> pd.DataFrame:
        """Return the jobs (BATCH_JOBS) with some stages: their run times, once tuned.

        No run time contains what is now a part of a start-up.
        """
        starts_s = {name: each.start_in_run_s for name, each in self.images.items()}
        is_tuned = Stage.TUNED in set(stages)
        if not is_tuned and not any(starts_s.values()):
            return jobs
        start_s = jobs["image"].map(starts_s).fillna(0.0).to_numpy(np.float64)
        run_s = np.maximum(jobs["run_s"].to_numpy(np.float64) - start_s, 0.0)
        if is_tuned:
            shares = {
                name: 1.0 if each.tuned_run_share is None else each.tuned_run_share
                for name, each in self.images.items()
            }
            run_s *= jobs["image"].map(shares).fillna(1.0).to_numpy(np.float64)
        return jobs.assign(run_s=run_s)


def ablation(stages: tuple[Stage, ...]) -> dict[str, tuple[Stage, ...]]:
    """Return the stages of each setting: none, all, each alone, and all but each."""
    if not stages:
        return {"as it is": ()}
    settings: dict[str, tuple[Stage, ...]] = {"as it is": (), "all stages": stages}
    if len(stages) == 1:
        return {"as it is": (), f"{stages[0]}": stages}
    for stage in stages:
        settings[f"only {stage}"] = (stage,)
    if len(stages) > 2:  # of two, all but one is the other alone
        for stage in stages:
            settings[f"no {stage}"] = tuple(each for each in stages if each != stage)
    return settings
