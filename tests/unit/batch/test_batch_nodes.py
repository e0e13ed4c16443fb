"""Clusters from a line of node types and counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.batch.nodes import parse_nodes
from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError


def machine(name: str) -> Hardware:
    if name != "big":
        raise UserError(f"conf/hardware/{name}.yaml: no such file")
    return Hardware(
        name="big", cores=64, idle_w=100, busy_w=300, memory_w_per_gib=0, memory_gib=512,
        power_source="test", gpu_count=8, gpu_idle_w=50, gpu_busy_w=700,
    )  # fmt: skip


def test_machines_and_sizes() -> None:
    cluster = parse_nodes("big:2, 32c256g:10,16c64g4gpu,8c", machine)
    assert cluster.counts == (2, 10, 1, 1)
    sizes = [(each.cpu_milli, each.gpu_milli) for each in cluster.node_types]
    assert sizes == [(64_000, 8000), (32_000, 0), (16_000, 4000), (8000, 0)]
    assert cluster.node_types[1].memory_bytes == 256 << 30
    assert cluster.node_types[0].levels[-1].gpu_active_w == 650


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected NAME:COUNT"),
        ("8c:0", "'8c:0' given"),
        ("8c:many", "'8c:many' given"),
        ("8c,,8c", "'' given"),
        ("0c:1", "0 cores"),
        ("8c:1000001", "at most 1,000,000"),
        ("8c63gpu", "at most 62 GPUs"),
        ("9999999999c", "cores, expected 1 to"),
        ("8c999999999g", "GiB of memory"),
        ("8c:1,8c:1", "occur twice"),
        ("small:1", "small.yaml: no such file"),
    ],
)
def test_wrong_lines_are_named(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_nodes(text, machine)


@given(st.text("0123456789cgpu:,big ", max_size=30))
def test_any_line_is_a_cluster_or_an_error(text: str) -> None:
    try:
        cluster = parse_nodes(text, machine)
    except UserError:
        return
    assert cluster.size >= 1
