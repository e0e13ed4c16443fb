"""A cluster that traces are scheduled on: one YAML in `conf/cluster/`."""

from typing import Annotated, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    NotNegative,
    Number,
    Parts,
    SomeParts,
    about,
    satisfying,
)

_MOST_NODES = 1_000_000


@dataclass(config=CHECKED)
class OutageConfig:
    """A time in which one node is down."""

    node: Parts = about("Number of the node.")
    start_s: NotNegative = about("When it fails.", unit="s")
    end_s: Number = about("When it is back.", unit="s")

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.end_s <= self.start_s:
            raise InvalidValueError("end_s", self.end_s, f"a number above {self.start_s:g}")
        return self


@dataclass(config=CHECKED)
class ClusterConfig:
    """Nodes by type, and whether one job at a time has them all."""

    name: Name = about("The file's stem.")
    nodes: Annotated[
        dict[str, SomeParts], satisfying(len, "at least one node type with its count")
    ] = about("Number of nodes by type, a file in `conf/hardware/`, numbered in this order from 0.")
    engine_slots: Parts = about(
        "0: jobs share the nodes. Else one job at a time has the cluster, and runs this many "
        "tasks at once.",
        default=0,
    )
    outages: list[OutageConfig] = about("Nodes that fail and come back.", factory=list)
    description: str = about("For the report.", default="", report_only=True)

    @model_validator(mode="after")
    def _outages_are_of_its_nodes(self) -> Self:
        total = sum(self.nodes.values())
        if total > _MOST_NODES:
            raise InvalidValueError("nodes", f"{total} nodes", f"at most {_MOST_NODES} together")
        for position, outage in enumerate(self.outages):
            if outage.node >= total:
                expected = f"a node of the cluster, 0 to {total - 1}"
                raise InvalidValueError(f"outages[{position}].node", outage.node, expected)
        return self
