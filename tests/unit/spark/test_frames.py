from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.dropping import kept_tasks
from trimtab.spark.event_log import read_event_log
from trimtab.spark.frames import read_kept, write_partitions
from trimtab.spark.session import Session

PARTS = 8


@pytest.fixture(scope="module")
def table(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points of two groups, around 0 and 100, in PARTS parts."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("frames") / "points"
    rows = [(number, float(number % 2 * 100 + number % 7)) for number in range(400)]
    frame = SparkSession(spark.context).createDataFrame(rows, ["number", "x"])
    write_partitions(frame, folder, PARTS)
    return folder


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.75])
def test_a_data_frame_reads_the_kept_parts_in_a_task_each(
    spark: Session, table: Path, theta: float
) -> None:
    group = f"frame {theta}"
    spark.context.setJobGroup(group, "")
    found = sorted(row.number for row in read_kept(spark.context, table, theta, seed=3).collect())
    spark.flush()
    tasks = read_event_log(spark.event_log).of_groups([group]).tasks
    assert len(tasks) == kept_tasks(PARTS, theta)
    assert len(found) == len(set(found)) and set(found) <= set(range(400))
    share = len(found) / 400
    assert share == pytest.approx(kept_tasks(PARTS, theta) / PARTS, abs=0.05)
    again = read_kept(spark.context, table, theta, seed=3).collect()
    assert sorted(row.number for row in again) == found


def test_mllib_launches_no_task_for_what_is_dropped(spark: Session, table: Path) -> None:
    pytest.importorskip("numpy")
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    spark.context.setJobGroup("mllib", "")
    kept = read_kept(spark.context, table, 0.5, seed=1)
    points = VectorAssembler(inputCols=["x"], outputCol="features").transform(kept)
    centres = KMeans(k=2, seed=1, maxIter=5).fit(points).clusterCenters()
    spark.flush()
    tasks = read_event_log(spark.event_log).of_groups(["mllib"]).tasks
    most = tasks.groupby("stage").size().max()
    assert most == kept_tasks(PARTS, 0.5)
    assert sorted(centre[0] for centre in centres) == pytest.approx([3, 103], abs=0.5)


def test_what_is_no_such_table(spark: Session, table: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a table that write_partitions wrote"):
        read_kept(spark.context, tmp_path, 0.1, seed=0)
    with pytest.raises(UserError, match="drop ratio 1"):
        read_kept(spark.context, table, 1.0, seed=0)


def test_fewer_rows_than_parts(spark: Session, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    frame = SparkSession(spark.context).createDataFrame([(1,)], ["number"])
    with pytest.raises(UserError, match="4 partitions asked for"):
        write_partitions(frame, tmp_path / "few", 4)
