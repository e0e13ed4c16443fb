"""The dropper: run a stage on part of its partitions, so that the others are never launched."""

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

    Rocha's thesis, section 4.3.1; the simulator's `clusters.round_times.kept_tasks` says the same,
    but comes with a compiler that every Python worker of Spark would load. Raises UserError unless
    0 <= theta < 1.
    """
    if not 0 <= theta < 1:
        raise UserError(f"drop ratio {theta:g}: expected at least 0 and less than 1")
    return math.ceil(round(tasks * (1 - theta), 9))  # 50 (1 - 0.7) is a little above 15


def kept_partitions(partitions: int, theta: float, seed: int) -> list[int]:
    """Return the partitions that run at the drop ratio `theta`, in order, drawn with `seed`."""
    return sorted(random.Random(seed).sample(range(partitions), kept_tasks(partitions, theta)))


def kept_share(partitions: int, theta: float) -> float:
    """Return the share of `partitions` that runs: what an estimate is scaled by, 0 to 1."""
    return kept_tasks(partitions, theta) / partitions


def drop(rdd: RDD[T], theta: float, seed: int) -> RDD[T]:
    """Return `rdd` with only the partitions that run at the drop ratio `theta`.

    A stage over it launches a task for each of these and for no other, where a filter over
    `rdd` would launch the empty ones too: Spark's own PartitionPruningRDD. It has the effect of
    the changed `findMissingPartitions()` of Rocha's thesis, section 4.4.1, in a Spark as
    released. Raises UserError unless 0 <= theta < 1.
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
    # In Scala a set of numbers is the function that tells its members: no callback into Python.
    is_kept = jvm.scala.jdk.javaapi.CollectionConverters.asScala(numbers).toSet()
    pruned = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(rdd._jrdd.rdd(), is_kept)
    return PythonRDD(pruned.toJavaRDD(), rdd.ctx, rdd._jrdd_deserializer)
