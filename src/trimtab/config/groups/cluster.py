"""A cluster that traces are scheduled on: one YAML in `conf/cluster/`."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import InvalidValueError, about, check_name, check_number


@dataclass
class OutageConfig:
    """A time in which one node is down."""

    node: int = field(default=MISSING, metadata=about("Number of the node, from 0."))
    start_s: float = field(default=MISSING, metadata=about("When it fails.", unit="s"))
    end_s: float = field(default=MISSING, metadata=about("When it is back.", unit="s"))

    def __post_init__(self) -> None:
        check_number("node", self.node, minimum=0)
        check_number("start_s", self.start_s, minimum=0)
        check_number("end_s", self.end_s, above=self.start_s)


@dataclass
class ClusterConfig:
    """Nodes by type, and whether one job at a time has them all."""

    name: str = field(default=MISSING, metadata=about("Name of the cluster: the stem of its file."))
    nodes: dict[str, int] = field(
        default=MISSING,
        metadata=about(
            "How many nodes of each type, by the name of its file in `conf/hardware/`. They are "
            "numbered in this order, from 0."
        ),
    )
    engine_slots: int = field(
        default=0,
        metadata=about(
            "0: jobs share the nodes. Above 0: the cluster is a processing engine that one job at "
            "a time has to itself, running this many of its tasks at once."
        ),
    )
    outages: list[OutageConfig] = field(
        default_factory=list, metadata=about("Nodes that fail and come back: node, start_s, end_s.")
    )
    description: str = field(
        default="", metadata=about("What the cluster is, for the report.", report_only=True)
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if not self.nodes:
            raise InvalidValueError("nodes", {}, "at least one node type with its count")
        for node_type, count in self.nodes.items():
            check_number(f"nodes.{node_type}", count, minimum=1)
        check_number("engine_slots", self.engine_slots, minimum=0)
        total = sum(self.nodes.values())
        for position, outage in enumerate(self.outages):
            if outage.node >= total:
                expected = f"a node of the cluster, 0 to {total - 1}"
                raise InvalidValueError(f"outages[{position}].node", outage.node, expected)
