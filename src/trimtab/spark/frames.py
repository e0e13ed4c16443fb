"""The dropper for data frames and MLlib: reads only some partitions of a Parquet table.

A plain filter over a data frame launches a task for every file and discards the rows. A filter on a
partition column prunes the table first: other folders get no tasks. For users' own programs
(docs/how-to/schedule.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import UserError
from trimtab.spark.dropping import kept_partitions

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

_COLUMN = "trimtab_partition"
# Kept beside the parts (Spark ignores names with an underscore). Without it, opening the table
# launches a task that reads its columns.
_SCHEMA = "_schema.json"


def write_partitions(frame: DataFrame, folder: Path, partitions: int) -> None:
    """Write `frame` to `folder` as a table whose parts, one file each, can be dropped.

    Rows go to the parts in turn, so each part is a sample. Raises UserError for fewer rows than
    `partitions`, as an empty part would have no task.
    """
    from pyspark.sql.functions import spark_partition_id

    parts = frame.repartition(partitions).withColumn(_COLUMN, spark_partition_id())
    parts.write.partitionBy(_COLUMN).parquet(str(folder))
    if _count(folder) < partitions:
        raise UserError(f"{folder}: {partitions} partitions asked for, too few rows for them")
    (folder / _SCHEMA).write_text(parts.schema.json())


def read_kept(context: SparkContext, folder: Path, theta: float, seed: int) -> DataFrame:
    """Return the kept parts, at drop ratio `theta`, of a table written by write_partitions.

    Reading launches tasks only for kept parts. Raises UserError unless 0 <= theta < 1, and for a
    folder without such a table.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    partitions = _count(folder)
    if partitions == 0 or not (folder / _SCHEMA).exists():
        raise UserError(f"{folder}: expected a table that write_partitions wrote")
    kept = kept_partitions(partitions, theta, seed)
    session = SparkSession(context)
    # Opening a file counts as much as a task's whole input, so no task reads two small files.
    a_task = session.conf.get("spark.sql.files.maxPartitionBytes")
    session.conf.set("spark.sql.files.openCostInBytes", a_task)
    schema = StructType.fromJson(json.loads((folder / _SCHEMA).read_text()))
    frame = session.read.schema(schema).parquet(str(folder))
    return frame.where(frame[_COLUMN].isin(kept)).drop(_COLUMN)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.glob(f"{_COLUMN}=*"))
