"""What node types say of themselves: levels, GPUs, load curve, probes; and the files that ship."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from config_files import PROJECT

from trimtab.config.fields import MistakeError
from trimtab.config.groups.hardware import Hardware
from trimtab.config.validate import checked

FILES = sorted((PROJECT / "conf" / "hardware").glob("*.yaml"))
TABLE_3_2 = {
    "cortex_a53": (4, 1),
    "epyc_7281": (32, 64),
    "xeon_e3_1270v6": (4, 64),
    "xeon_e5_2683v4": (32, 128),
}
NODE: dict[str, Any] = {
    "name": "node",
    "cores": 4,
    "idle_w": 10.0,
    "busy_w": 50.0,
    "memory_w_per_gib": 0.0,
    "memory_gib": 8.0,
    "power_source": "a test",
}
SLOW = {"frequency_ghz": 1.0, "speed": 0.5, "busy_w": 20.0}
FAST = {"frequency_ghz": 2.0, "speed": 1.0, "busy_w": 50.0}
PROBE = {"task": "k_means", "cores": 2, "memory_gib": 0.5, "work": 10, "wall_s": 3, "energy_j": 9}


def hardware(**changes: Any) -> Hardware:
    return checked({**NODE, **changes}, Hardware)


def shipped(name: str) -> Hardware:
    return hardware(**keys_of(name))


def keys_of(name: str) -> dict[str, Any]:
    keys = yaml.safe_load((PROJECT / "conf" / "hardware" / f"{name}.yaml").read_text())
    for other in keys.pop("defaults", []):
        keys = {**keys_of(other), **keys}
    return dict(keys)


def test_files_from_before_stay_valid() -> None:
    node = hardware()
    assert (node.levels, node.probes, node.load_curve) == ([], [], [])
    assert (node.speed, node.gpu_count, node.network_bytes_per_s) == (1.0, 0, 125e6)


def test_everything_given() -> None:
    node = hardware(
        levels=[SLOW, {**FAST, "gpu_busy_w": 200}],
        probes=[{**PROBE, "level": 1, "energy_source": "measured"}],
        load_curve=[0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1],
        gpu_count=2,
        gpu_idle_w=20,
        gpu_busy_w=250,
    )
    assert [level.speed for level in node.levels] == [0.5, 1.0]
    assert node.levels[0].gpu_busy_w is None and node.levels[1].gpu_busy_w == 200
    assert node.probes[0].level == 1


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"levels": [{**SLOW, "frequency_ghz": 0}, FAST]}, "levels[0].frequency_ghz"),
        ({"levels": [{**SLOW, "speed": 0}, FAST]}, "levels[0].speed"),
        ({"levels": [SLOW, {**FAST, "speed": 1.1}]}, "levels[1].speed"),
        ({"levels": [SLOW, {**SLOW, "busy_w": 50}]}, "levels[1].speed"),
        ({"levels": [{**SLOW, "frequency_ghz": 3}, FAST]}, "levels[1].frequency_ghz"),
        ({"levels": [SLOW]}, "levels[0].speed"),
        ({"levels": [SLOW, {**FAST, "busy_w": 40}]}, "levels[1].busy_w"),
        ({"levels": [{**SLOW, "busy_w": 5}, FAST]}, "levels[0].busy_w"),
        ({"levels": [{**FAST, "gpu_busy_w": 5}], "gpu_idle_w": 9, "gpu_busy_w": 9}, "gpu_busy_w"),
        ({"levels": [{"speed": 1, "busy_w": 50}]}, None),
        ({"speed": 0}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"gpu_count": -1}, "gpu_count"),
        ({"gpu_idle_w": 5, "gpu_busy_w": 4}, "gpu_busy_w"),
        ({"network_bytes_per_s": 0}, "network_bytes_per_s"),
        ({"load_curve": [0, 1]}, "load_curve"),
        ({"load_curve": [0.1, *[0.5] * 9, 1]}, "load_curve"),
        ({"load_curve": [0, *[0.5] * 9, 0.9]}, "load_curve"),
        ({"load_curve": [0, 0.5, 0.4, *[0.5] * 7, 1]}, "load_curve[2]"),
        ({"probes": [{**PROBE, "cores": 5}]}, "probes[0].cores"),
        ({"probes": [{**PROBE, "level": 1}]}, "probes[0].level"),
        ({"probes": [PROBE, {**PROBE, "wall_s": 0}]}, "probes[1].wall_s"),
        ({"probes": [{**PROBE, "energy_j": -1}]}, "probes[0].energy_j"),
        ({"probes": [{**PROBE, "task": " "}]}, "probes[0].task"),
        ({"probes": [{**PROBE, "energy_source": "guessed"}]}, "probes[0].energy_source"),
    ],
)
def test_what_makes_no_node(changes: dict[str, Any], key: str | None) -> None:
    if key is None:
        with pytest.raises(Exception, match="frequency_ghz"):
            hardware(**changes)
        return
    with pytest.raises(MistakeError) as caught:
        hardware(**changes)
    assert caught.value.key.endswith(key)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_node(path: Path) -> None:
    node = shipped(path.stem)
    assert node.name == path.stem
    assert node.power_source
    powers = [level.busy_w for level in node.levels]
    assert powers == sorted(powers)


def test_there_are_20_types_without_gpus_and_the_nodes_of_table_3_2() -> None:
    nodes = {path.stem: shipped(path.stem) for path in FILES}
    plain = [name for name, node in nodes.items() if node.gpu_count == 0]
    assert len(plain) >= 20
    for name, (cores, memory_gib) in TABLE_3_2.items():
        assert (nodes[name].cores, nodes[name].memory_gib) == (cores, memory_gib)
        assert len(nodes[name].levels) == 2


@pytest.mark.parametrize(("name", "work_s"), [("cortex_a53", 69), ("cortex_a53_continued", 39)])
def test_figure_3_1_comes_out_of_the_two_node_types(name: str, work_s: float) -> None:
    """K-means on two threads: 69 s on AMD; moved after 30 s, 5.4 times that, 34 % less energy.

    A moved job does all of its work on the ARM node again, or only what was left of it.
    """
    amd, arm = shipped("epyc_7281"), shipped(name)

    def active_w(node: Hardware) -> float:
        return 2 * (node.busy_w - node.idle_w) / node.cores

    stays_j = 69 * active_w(amd)
    moved_s = work_s * amd.speed / arm.speed
    moved_j = 30 * active_w(amd) + moved_s * active_w(arm)
    assert stays_j == pytest.approx(565, rel=0.01)
    assert (30 + moved_s) / 69 == pytest.approx(5.4, rel=0.01)
    assert 1 - moved_j / stays_j == pytest.approx(0.34, abs=0.01)
