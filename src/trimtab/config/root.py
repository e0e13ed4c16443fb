"""The whole configuration: one choice of each group, and what belongs to no group."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.debloat import Debloat
from trimtab.config.experiment import Experiment
from trimtab.config.hardware import Hardware
from trimtab.config.profiling import Profiling, Verify
from trimtab.config.workload import Workload

GROUPS = ("workload", "hardware", "debloat", "experiment")


@dataclass
class Root:
    """What `conf/config.yaml` and the chosen file of each group add up to."""

    workload: Workload = MISSING
    hardware: Hardware = MISSING
    debloat: Debloat = MISSING
    experiment: Experiment = MISSING
    profiling: Profiling = field(default_factory=Profiling)
    verify: Verify = field(default_factory=Verify)
