"""The nodes of a virtual Slurm, and what slurm.conf says of them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.errors import UserError
from trimtab.execution.slurm.configuration import (
    constraint_of,
    mebibytes,
    nodes_of,
    slurm_conf,
)


def test_nodes_have_the_simulators_numbers(nodes: Cluster) -> None:
    made = nodes_of(nodes)
    assert [node.node_type for node in made] == nodes.type_of_node.tolist()
    assert [node.name for node in made] == ["fast-1", "fast-2", "slow-arm-1"]
    assert [node.cores for node in made] == [4, 4, 2]


def test_every_node_has_its_line_and_port(nodes: Cluster) -> None:
    text = slurm_conf(Path("/somewhere"), "host", [7000, 7001, 7002, 7003], nodes)
    lines = [line for line in text.splitlines() if line.startswith("NodeName=")]
    ports = [line.split("Port=")[1].split()[0] for line in lines]
    assert ports == ["7001", "7002", "7003"]
    assert lines[2].endswith("CPUs=2 RealMemory=4096 Features=enclave_sgx1")
    with pytest.raises(ValueError):
        slurm_conf(Path("/somewhere"), "host", [7000, 7001], nodes)


def test_enclaves_are_features_that_secure_jobs_ask_for(nodes: Cluster) -> None:
    fast, slow = (
        replace(kind, enclave=name)
        for kind, name in zip(nodes.node_types, ("sgx1", "sev_snp"), strict=True)
    )
    cluster = Cluster((fast, slow), (2, 1))
    text = slurm_conf(Path("/somewhere"), "host", [7000, 7001, 7002, 7003], cluster)
    features = [line.partition("Features=")[2] for line in text.splitlines() if "CPUs=" in line]
    assert features == ["enclave_sgx1", "enclave_sgx1", "enclave_sev_snp"]
    secure = JobClass("secure", protection={"fast": math.inf, "slow-arm": 1.5})
    assert constraint_of(secure, cluster) == "enclave_sev_snp"
    either = JobClass("secure", protection={"fast": 2.0, "slow-arm": 1.5})
    assert constraint_of(either, cluster) == "enclave_sev_snp|enclave_sgx1"
    assert constraint_of(JobClass("open"), cluster) == ""


@given(st.integers(1, 1 << 50))
def test_memory_is_rounded_up(size_bytes: int) -> None:
    assert 0 <= (mebibytes(size_bytes) << 20) - size_bytes < 1 << 20


@pytest.mark.parametrize("name", ["a,b", "a[1-2]", "1st", "", "a b"])
def test_names_that_slurm_would_take_apart(nodes: Cluster, name: str) -> None:
    with pytest.raises(UserError, match="Slurm's names"):
        nodes_of(Cluster((replace(nodes.node_types[0], name=name),), (1,)))


def test_a_part_of_a_core(nodes: Cluster) -> None:
    with pytest.raises(UserError, match="cpu_milli: 1500"):
        nodes_of(Cluster((replace(nodes.node_types[0], cpu_milli=1500),), (1,)))
