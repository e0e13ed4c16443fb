"""Configurations of enclaves: what is refused, and that the fitted one is what was fitted."""

import copy
import json
import re
import shutil
from typing import Any

import pytest
import yaml
from config_files import PROJECT, write

from trimtab.config import ConfigError, Configurations

SGX1: dict[str, Any] = yaml.safe_load((PROJECT / "conf/enclave/sgx1.yaml").read_text())
COSTS = ("work_factor", "call_s", "encryption_s_per_byte", "contention_s", "page_fault_s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Configurations:
    """The project's configurations in a folder where another enclave may be written."""
    conf = tmp_path_factory.mktemp("enclaves") / "conf"
    shutil.copytree(PROJECT / "conf", conf)
    return Configurations(conf)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("call_s.low", -1e-6, "0"),
        ("call_s.low", "fast", "number"),
        ("call_s.high", 1e-9, "at least low"),
        ("call_s.typical", 1.0, "from low"),
        ("call_s.source", " ", "a text that is not empty"),
        ("call_s.middle", 1.0, "middle"),
        ("work_factor", {"low": 0.5, "high": 2, "source": "x"}, "at least 1"),
        ("page_fault_s", None, "a cost, as there is a page_cache"),
        ("page_cache.usable_mib", 0, "0"),
        ("page_cache.usable_mib", 129, "at most reserved_mib"),
        ("page_cache.page_bytes", 511, "512"),
        ("thread_limit.threads", 0, "1"),
        ("thread_limit.threads", 2.5, "whole number"),
        ("thread_limit.source", None, "text"),
        ("calls", 3, "calls"),
    ],
)
def test_what_is_refused(folder: Configurations, key: str, value: Any, expected: str) -> None:
    # A file of its own each time: one that was read is not read again.
    name = re.sub("[^a-z0-9]+", "_", f"{key} {value}".lower())[:60]
    given = {**copy.deepcopy(SGX1), "name": name}
    *above, last = key.split(".")
    place = given
    for part in above:
        place = place[part]
    place[last] = value
    write(folder.conf, f"enclave/{name}.yaml", given)
    with pytest.raises(ConfigError) as caught:
        folder.option("enclave", name)
    said = str(caught.value)
    assert f"enclave/{name}.yaml: enclave." in said and key.split(".")[0] in said, said
    assert expected in said, said


def test_every_figure_has_its_source_and_range(folder: Configurations) -> None:
    for path in (PROJECT / "conf/enclave").glob("*.yaml"):
        enclave = folder.option("enclave", path.stem)
        costs = [getattr(enclave, key) for key in COSTS]
        assert any(costs), path
        for cost in filter(None, costs):
            assert cost.source.strip() and cost.low <= cost.high


def test_the_fitted_constants_are_in_the_configuration() -> None:
    fitted = json.loads((PROJECT / "benchmarks/results/enclave_model.json").read_text())
    machine = fitted["constants"]["machine"]
    for key in ("call_s", "encryption_s_per_byte", "contention_s"):
        assert SGX1[key]["typical"] == pytest.approx(machine[key], rel=0.01), key
