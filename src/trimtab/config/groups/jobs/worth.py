"""What each stage is worth to the jobs of a trace, and what energy, nodes and bytes cost."""

from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    Names,
    NotNegative,
    Positive,
    about,
)


@dataclass(config=CHECKED)
class PricesConfig:
    """What energy, nodes and bytes cost; what is empty is not shown."""

    energy_eur_per_kwh: str = about(
        "Of electricity: a number, or a CSV of times and values.", default="", unit="EUR/kWh"
    )
    carbon_g_per_kwh: str = about(
        "Of electricity: a number, or a CSV of times and values.", default="", unit="gCO2e/kWh"
    )
    node_eur_per_h: dict[Name, NotNegative] = about(
        "Of each type of node, while it is on.", factory=dict, unit="EUR/h"
    )
    egress_eur_per_gb: NotNegative | None = about(
        "Of what a registry sends.", default=None, unit="EUR/GB"
    )
    storage_eur_per_gb_month: NotNegative | None = about(
        "Of what a registry holds.", default=None, unit="EUR"
    )
    source: str = about("Where these are from.", default="", report_only=True)


@dataclass(config=CHECKED)
class WorthCells:
    """The cells whose stages are weighed: clusters x traces x policies of batch queues."""

    clusters: Names = about("Files in `conf/cluster/`.", factory=list)
    traces: Names = about(
        "Files in `conf/trace/` whose classes name a workload, or what was measured of one.",
        factory=list,
    )
    queue_policies: Names = about(
        "Policies of `trimtab schedule simulate`; each is a stage that takes the place of `now`.",
        factory=list,
    )
    now: Name = about("The policy without that stage.", default="fcfs")
    objective: str = about("File in `conf/objective/` with `prices`; empty: none.", default="")
    tuned: dict[str, Name] = about(
        "For classes of jobs: the workload in `tune.workloads` that shows what tuning saves them.",
        factory=dict,
    )
    boot_s: NotNegative = about("Of nodes that were switched off.", default=90.0, unit="s")
    off_after_s: NotNegative | None = about(
        "Idle nodes are switched off after this; null: never.", default=None, unit="s"
    )
    pull_mbit_per_s: Positive = about(
        "How fast a node pulls, where that was not measured.", default=1000.0, unit="Mbit/s"
    )
    registry_mbit_per_s: Positive | None = about(
        "How fast the registry sends to all nodes together; null: no limit.",
        default=None,
        unit="Mbit/s",
    )
    unpack_mb_per_s: Positive = about(
        "How fast a node unpacks, of compressed bytes, where that was not measured.",
        default=100.0,
        unit="MB/s",
    )

    @model_validator(mode="after")
    def _names_whole_cells(self) -> Self:
        cells = {
            "clusters": self.clusters, "traces": self.traces, "queue_policies": self.queue_policies
        }  # fmt: skip
        for key, names in cells.items():
            if any(cells.values()) and not names:
                raise InvalidValueError(key, [], "at least one name")
        if self.now in self.queue_policies:
            raise InvalidValueError("queue_policies", self.now, "other policies than `now`")
        return self

    def __bool__(self) -> bool:
        """Whether anything is weighed."""
        return bool(self.traces)
