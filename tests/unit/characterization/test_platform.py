"""Platform parameters reach Spark by its own names."""

from trimtab.characterization.platform import slots, spark_settings
from trimtab.config.groups.learning.characterization import PLATFORM_DEFAULTS


def test_every_parameter_changes_a_setting() -> None:
    others = {
        "executors": 3, "cores": 5, "memory_mib": 2048, "parallelism": 7, "shuffle_compress": False,
        "serializer": "kryo", "locality_wait_s": 0.25, "memory_fraction": 0.4,
        "broadcast_block_mib": 8,
    }  # fmt: skip
    assert others.keys() == PLATFORM_DEFAULTS.keys()
    before = spark_settings(PLATFORM_DEFAULTS, local=True)
    for name, value in others.items():
        varied = {**PLATFORM_DEFAULTS, name: value}
        assert spark_settings(varied, local=True) != before, name
    assert slots({**PLATFORM_DEFAULTS, **others}) == 15
    settings = spark_settings(others, local=False)
    assert settings["spark.locality.wait"] == "250ms"
    assert settings["spark.serializer"].endswith("KryoSerializer")
    assert "spark.driver.memory" not in settings
    assert spark_settings(others, local=True)["spark.driver.memory"] == "6144m"
