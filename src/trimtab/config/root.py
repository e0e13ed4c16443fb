"""The whole configuration: one choice of each group, and what belongs to no group."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.experiment import Experiment
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.profiling import Profiling, Verify

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
    cluster: ClusterConfig = MISSING
    trace: TraceConfig = MISSING
    policy: PolicyConfig = MISSING
    objective: Objective = MISSING
    experiment: Experiment = MISSING
    profiling: Profiling = field(default_factory=Profiling)
    verify: Verify = field(default_factory=Verify)
