"""The nodes of a cluster from a line such as `h200_x8:8,gpu_a40:4,32c256g:10`."""

import re
from collections.abc import Callable

from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.clusters.hardware_types import GIB, node_type_of
from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError

_SHAPE = re.compile(r"(?P<cores>\d+)c(?:(?P<memory>\d+)g)?(?:(?P<gpus>\d+)gpu)?")
UNLIMITED_BYTES = 1 << 42  # of a million nodes together: below 2^63
MOST_NODES, MOST_GPUS, _MOST_CORES = 10**6, 62, 10**7
_EXPECTED = (
    "expected NAME:COUNT, several joined by commas; NAME is a file in conf/hardware/, or a node of "
    "cores, GiB and GPUs such as 64c, 32c256g or 16c64g4gpu"
)


def parse_nodes(text: str, hardware: Callable[[str], Hardware]) -> Cluster:
    """Return the cluster that `text` describes; `hardware` returns the machine of a name.

    A node without memory in its name has enough for all jobs; nodes described by sizes draw no
    power, and are as fast as the node of the recorded times. Raises UserError with the part that is
    wrong, and as `hardware` does.
    """
    node_types, counts = [], []
    for part in text.split(","):
        name, _, number = part.strip().partition(":")
        if not name or not re.fullmatch(r"[1-9]\d{0,6}", number or "1"):
            raise UserError(f"--nodes: {part.strip()!r} given, {_EXPECTED}")
        node_types.append(_of_sizes(name) or node_type_of(_machine(name, hardware)))
        counts.append(int(number or 1))
    if sum(counts) > MOST_NODES:
        raise UserError(f"--nodes: {sum(counts):,} nodes, at most {MOST_NODES:,} are simulated")
    for node_type in node_types:
        if node_type.gpu_milli > MOST_GPUS * 1000:
            raise UserError(f"--nodes: {node_type.name}: at most {MOST_GPUS} GPUs a node")
    return Cluster(tuple(node_types), tuple(counts))


def _machine(name: str, hardware: Callable[[str], Hardware]) -> Hardware:
    try:
        return hardware(name)
    except UserError as error:
        raise UserError(f"--nodes: {name!r}: {_EXPECTED}; {error}") from None


def has_gpu_type(node_type: NodeType, gpu_type: str) -> bool:
    """Return whether a job of `gpu_type` (lower case; empty: any) may run on a node type.

    A name such as `gpu_a40_x8` has the type `a40`. Nodes described by sizes have any.
    """
    name = node_type.name.lower()
    return not gpu_type or gpu_type in name.split("_") or bool(_SHAPE.fullmatch(name))


def pool_of(cores: int) -> Cluster:
    """Return a cluster whose cores are all the same, as one node."""
    return Cluster((node_of_size(f"{cores}c", cores * 1000, UNLIMITED_BYTES, 0),), (1,))


def _of_sizes(name: str) -> NodeType | None:
    match = _SHAPE.fullmatch(name)
    if not match:
        return None
    cores, gpus = int(match["cores"]), int(match["gpus"] or 0)
    if not 0 < cores <= _MOST_CORES:
        raise UserError(f"--nodes: {name}: {cores} cores, expected 1 to {_MOST_CORES:,}")
    memory = int(match["memory"]) * GIB if match["memory"] else UNLIMITED_BYTES
    if not 0 < memory <= UNLIMITED_BYTES:
        raise UserError(f"--nodes: {name}: {match['memory']} GiB of memory")
    return node_of_size(name, cores * 1000, memory, gpus)


def node_of_size(name: str, cpu_milli: int, memory_bytes: int, gpus: int) -> NodeType:
    """Return a node that draws no power, and is as fast as that of the recorded times."""
    return NodeType(name, cpu_milli, memory_bytes, 0.0, (Level(1.0, 0.0),), gpu_milli=gpus * 1000)
