"""The nodes of eight GPUs in conf/hardware, against the sources that they name."""

import pytest

from trimtab.batch.nodes import parse_nodes
from trimtab.cli.project.conf import configurations
from trimtab.clusters.cluster import NodeType

NAMES = ("a100_x8", "h100_x8", "h200_x8", "l40s_x8", "mi300x_x8")


@pytest.fixture(scope="module")
def nodes() -> dict[str, NodeType]:
    known = configurations(None)
    cluster = parse_nodes(",".join(NAMES), lambda name: known.option("hardware", name))
    return {each.name: each for each in cluster.node_types}


def test_each_has_eight_gpus_and_the_name_of_their_type(nodes: dict[str, NodeType]) -> None:
    for name in NAMES:
        assert nodes[name].gpu_milli == 8000
        assert name.partition("_")[0] in nodes[name].name.split("_")


def test_speeds_are_the_ratios_of_the_sources(nodes: dict[str, NodeType]) -> None:
    speed = {name: nodes[name].levels[-1].speed for name in NAMES}
    assert speed["a100_x8"] == pytest.approx(16621 / 8056, rel=1e-3)
    assert speed["h100_x8"] / speed["a100_x8"] == pytest.approx(14.4 / 7.8, rel=1e-3)
    assert speed["h200_x8"] / speed["h100_x8"] == pytest.approx(28 / 24, rel=1e-3)
    assert speed["mi300x_x8"] == speed["h100_x8"]
    assert speed["l40s_x8"] / speed["h100_x8"] == pytest.approx(5 / 12, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "most_w"), [("a100_x8", 6500), ("h100_x8", 10_200), ("h200_x8", 10_200)]
)
def test_power_stays_below_what_the_vendor_names_as_most(
    nodes: dict[str, NodeType], name: str, most_w: float
) -> None:
    """DGX A100 and DGX H100 and H200: 6.5 and 10.2 kW in their datasheets."""
    node = nodes[name]
    level = node.levels[-1]
    assert node.idle_w + level.active_w + 8 * level.gpu_active_w < most_w


def test_a_node_of_h100_draws_about_what_one_was_measured_to(nodes: dict[str, NodeType]) -> None:
    """12.13 MJ in 29.1 minutes from the mains (MLPerf Training 4.0), its processors little used."""
    node = nodes["h100_x8"]
    gpus_w = node.idle_w + 8 * node.levels[-1].gpu_active_w
    measured_w = 12.13e6 / (29.1 * 60)
    assert gpus_w == pytest.approx(measured_w, rel=0.15)
