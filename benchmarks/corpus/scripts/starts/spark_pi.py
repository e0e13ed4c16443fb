"""Spark's example: an estimate of pi, by one worker process."""

from operator import add

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").appName("PythonPi").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def inside(n: int) -> int:
    x, y = n * 0.618034 % 1, n * 0.414214 % 1
    return int(x * x + y * y <= 1)


count = spark.sparkContext.parallelize(range(1000), 1).map(inside).reduce(add)
print(f"Pi is roughly {4 * count / 1000:.3f}")
spark.stop()
