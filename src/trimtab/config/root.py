"""The whole configuration: one choice of each group, and what belongs to no group."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.cluster import Cluster
from trimtab.config.debloat import Debloat
from trimtab.config.experiment import Experiment
from trimtab.config.hardware import Hardware
from trimtab.config.objective import Objective
from trimtab.config.policy import Policy
from trimtab.config.profiling import Profiling, Verify
from trimtab.config.trace import Trace
from trimtab.config.workload import Workload

GROUPS = (
    "workload",
    "hardware",
    "debloat",
    "cluster",
    "trace",
    "policy",
    "objective",
    "experiment",
)


@dataclass
class Root:
    """What `conf/config.yaml` and the chosen file of each group add up to."""

    workload: Workload = MISSING
    hardware: Hardware = MISSING
    debloat: Debloat = MISSING
    cluster: Cluster = MISSING
    trace: Trace = MISSING
    policy: Policy = MISSING
    objective: Objective = MISSING
    experiment: Experiment = MISSING
    profiling: Profiling = field(default_factory=Profiling)
    verify: Verify = field(default_factory=Verify)
