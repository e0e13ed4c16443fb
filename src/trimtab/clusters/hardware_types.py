"""Types of node from the YAML of a machine."""

from trimtab.clusters.cluster import Level, NodeType
from trimtab.config.groups.hardware import FrequencyLevel, Hardware

GIB = 1 << 30


def node_type_of(machine: Hardware, count: int = 1) -> NodeType:
    """Return `count` machines as one node: memory modules and GPUs add to its idle power."""
    idle_w = (
        machine.idle_w
        + machine.memory_w_per_gib * machine.memory_gib
        + machine.gpu_count * machine.gpu_idle_w
    )
    levels = machine.levels or [FrequencyLevel(frequency_ghz=1.0, speed=1.0, busy_w=machine.busy_w)]
    return NodeType(
        name=machine.name,
        cpu_milli=machine.cores * count * 1000,
        memory_bytes=int(machine.memory_gib * GIB) * count,
        idle_w=idle_w * count,
        levels=tuple(
            Level(
                speed=machine.speed * level.speed,
                active_w=(level.busy_w - machine.idle_w) * count,
                gpu_active_w=(machine.gpu_busy_w if level.gpu_busy_w is None else level.gpu_busy_w)
                - machine.gpu_idle_w,
            )
            for level in levels
        ),
        gpu_milli=machine.gpu_count * count * 1000,
        load_curve=tuple(machine.load_curve),
        network_bytes_per_s=machine.network_bytes_per_s * count,
        enclave=machine.enclave or "",
        gpu_slices=machine.gpu_slices,
    )
