"""A policy is a kind by lying in the package; mistakes in a YAML say what there is."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trimtab import policies
from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.facts import Asked, PolicyInputs
from trimtab.policies.registry import build_policy
from trimtab.simulation.simulate import simulate

NODE = NodeType("node", 1000, 1, 10.0, (Level(1.0, 20.0),))
FACTS = PolicyInputs(Cluster((NODE,), (3,)), [JobClass("job")], [Asked(1.0, 0.0, 1.0)])
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "schedule.md"
TRACE = pd.DataFrame(
    {
        "job": np.arange(2), "arrival_s": [0.0, 1.0], "job_class": "job", "priority": 0,
        "cpu_milli": 1000, "gpu_milli": 0, "memory_bytes": 0, "work_s": 1.25,
    }
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that counts as part of the package, with the policy of the documentation in it."""
    blocks = PAGE.read_text().split("```")
    documented = next(block.removeprefix("python") for block in blocks if "emptiest.py" in block)
    (tmp_path / "emptiest.py").write_text(documented)
    before = set(sys.modules)
    monkeypatch.setattr(policies, "__path__", [*policies.__path__, str(tmp_path)])
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("trimtab.policies."):
            del sys.modules[name]
            if hasattr(policies, name.rpartition(".")[2]):
                delattr(policies, name.rpartition(".")[2])


def test_a_file_that_lies_there_is_a_kind(folder: Path) -> None:
    policy = build_policy("emptiest", {"level": 0}, FACTS)
    assert isinstance(policy, Policy) and policy.level == 0
    result = simulate(FACTS.cluster, FACTS.job_classes, TRACE, policy)
    assert result.jobs is not None
    assert result.jobs["node"].tolist() == [0, 1]
    assert result.simulator == "reference"
    with pytest.raises(UserError, match="lvl given; the keys of emptiest are: level"):
        build_policy("emptiest", {"lvl": 0}, FACTS)


def test_a_kind_that_is_none_is_told_which_there_are(folder: Path) -> None:
    (folder / "helper.py").write_text("def help(): pass")
    for kind in ("last", "helper", "base", "registry", "heats.policy"):
        with pytest.raises(UserError) as error:
            build_policy(kind, {}, FACTS)
        assert str(error.value) == (
            f"policy: kind: {kind!r} given, expected one of dias, emptiest, fcfs, heats, "
            "heats_as_released, kubernetes, priority"
        )


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("fcfs", "level, head_of_line"),
        ("priority", "preemption, level"),
        ("kubernetes", "none"),
        ("heats_as_released", "energy_weight, tick_s"),
    ],
)
def test_a_parameter_that_is_none_is_told_which_there_are(kind: str, keys: str) -> None:
    with pytest.raises(UserError) as error:
        build_policy(kind, {"x": 1, "a": 2}, FACTS)
    assert str(error.value) == f"policy: parameters: a, x given; the keys of {kind} are: {keys}"
