"""Platform parameters as Spark's settings.

Names in the published tables: EXEC_NUM, EXEC_COR, EXEC_MEM, SHF_COMPR, LOC_WAIT and so on; see
https://spark.apache.org/docs/latest/configuration.html for each setting.
"""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]  # values of parameters, by name

_SERIALIZERS = {
    "java": "org.apache.spark.serializer.JavaSerializer",
    "kryo": "org.apache.spark.serializer.KryoSerializer",
}


def slots(platform: Values) -> int:
    """Return the number of concurrent tasks."""
    return int(platform["executors"] * platform["cores"])


def spark_settings(platform: Values, *, local: bool) -> dict[str, str]:
    """Return Spark's settings for values of all platform parameters.

    A `local` Spark is one process with the memory of all executors.
    """
    compress = str(platform["shuffle_compress"]).lower()
    memory = f"{platform['memory_mib']}m"
    settings = {
        "spark.executor.cores": str(platform["cores"]),
        "spark.executor.memory": memory,
        "spark.default.parallelism": str(platform["parallelism"]),
        "spark.sql.shuffle.partitions": str(platform["parallelism"]),
        "spark.shuffle.compress": compress,
        "spark.shuffle.spill.compress": compress,
        "spark.serializer": _SERIALIZERS[platform["serializer"]],
        "spark.locality.wait": f"{round(platform['locality_wait_s'] * 1e3)}ms",
        "spark.memory.fraction": str(platform["memory_fraction"]),
        "spark.broadcast.blockSize": f"{platform['broadcast_block_mib']}m",
        # Keep the requested parallelism, also for small data.
        "spark.sql.adaptive.enabled": "false",
    }
    if local:
        settings["spark.driver.memory"] = f"{platform['executors'] * platform['memory_mib']}m"
    return settings
