"""The dropper for data frames and MLlib: of a table in Parquet only some partitions are read.

A plain filter over a data frame launches a task for every file and throws the rows away. A table
that is partitioned by a column, of which the filter wants some values, is pruned before: its other
folders are not even listed for tasks. For programs of a user's own (docs/how-to/schedule.md).
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
# Kept beside the parts (Spark passes over names with an underscore): without it, opening the table
# launches a task that reads its columns.
_SCHEMA = "_schema.json"


def write_partitions(frame: DataFrame, folder: Path, partitions: int) -> None:
    """Write `frame` to `folder` as a table whose parts, one file each, can be dropped.

    Rows go to the parts in turn: each is a sample. Raises UserError when there are fewer rows than
    `partitions`, as a part without rows would have no task.
    """
    from pyspark.sql.functions import spark_partition_id

    parts = frame.repartition(partitions).withColumn(_COLUMN, spark_partition_id())
    parts.write.partitionBy(_COLUMN).parquet(str(folder))
    if _count(folder) < partitions:
        raise UserError(f"{folder}: {partitions} partitions asked for, too few rows for them")
    (folder / _SCHEMA).write_text(parts.schema.json())


def read_kept(context: SparkContext, folder: Path, theta: float, seed: int) -> DataFrame:
    """Return the table that write_partitions wrote, as far as it is read at drop ratio `theta`.

    What is read launches a task for each kept part and for no other. Raises UserError unless
    0 <= theta < 1, and for a folder that holds no such table.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    partitions = _count(folder)
    if partitions == 0 or not (folder / _SCHEMA).exists():
        raise UserError(f"{folder}: expected a table that write_partitions wrote")
    kept = kept_partitions(partitions, theta, seed)
    session = SparkSession(context)
    # Opening a file counts as reading a task's worth: no task reads two small ones.
    a_task = session.conf.get("spark.sql.files.maxPartitionBytes")
    session.conf.set("spark.sql.files.openCostInBytes", a_task)
    schema = StructType.fromJson(json.loads((folder / _SCHEMA).read_text()))
    frame = session.read.schema(schema).parquet(str(folder))
    return frame.where(frame[_COLUMN].isin(kept)).drop(_COLUMN)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.glob(f"{_COLUMN}=*"))
