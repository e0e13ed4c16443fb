"""The dropper: runs a stage on part of its partitions; the others are never launched."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, TypeVar

from trimtab.errors import UserError

if TYPE_CHECKING:
    from pyspark import RDD

T = TypeVar("T")


def kept_tasks(tasks: int, theta: float) -> int:
    """Return how many of `tasks` run at the drop ratio `theta`: ceil(tasks (1 - theta)).

    Rocha's thesis, section 4.3.1. The simulator's `clusters.round_times.kept_tasks` is equal, but
    imports a compiler, which every Python worker of Spark would load. Raises UserError unless 0 <=
    theta < 1.
    """
    if not 0 <= theta < 1:
        raise UserError(f"drop ratio {theta:g}: expected at least 0 and less than 1")
    return math.ceil(round(tasks * (1 - theta), 9))  # 50 (1 - 0.7) is a little above 15


def kept_partitions(partitions: int, theta: float, seed: int) -> list[int]:
    """Return the partitions that run at the drop ratio `theta`, in order, drawn with `seed`."""
    return sorted(random.Random(seed).sample(range(partitions), kept_tasks(partitions, theta)))


def kept_share(partitions: int, theta: float) -> float:
    """Return the share of `partitions` that runs, 0 to 1, to scale an estimate by."""
    return kept_tasks(partitions, theta) / partitions


def drop(rdd: RDD[T], theta: float, seed: int) -> RDD[T]:
    """Return `rdd` with only the partitions that run at the drop ratio `theta`.

    A stage over it launches tasks only for these partitions; a filter over `rdd` would launch the
    empty ones too. Spark's own PartitionPruningRDD does this. It has the effect of the changed
    `findMissingPartitions()` of Rocha's thesis, section 4.4.1, in unmodified Spark. Raises
    UserError unless 0 <= theta < 1.
    """
    partitions = rdd.getNumPartitions()
    kept = kept_partitions(partitions, theta, seed)
    if len(kept) == partitions:
        return rdd
    from pyspark import RDD as PythonRDD  # noqa: N811

    jvm = rdd.ctx._jvm
    numbers = jvm.java.util.HashSet()
    for number in kept:
        numbers.add(number)
    # In Scala a set of numbers is its own membership function: no callback into Python.
    is_kept = jvm.scala.jdk.javaapi.CollectionConverters.asScala(numbers).toSet()
    pruned = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(rdd._jrdd.rdd(), is_kept)
    return PythonRDD(pruned.toJavaRDD(), rdd.ctx, rdd._jrdd_deserializer)
