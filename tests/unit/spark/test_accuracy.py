from pathlib import Path

from trimtab.spark.accuracy import measure_accuracy
from trimtab.spark.programs.prepare import write_documentation_posts
from trimtab.spark.programs.word_popularity import WordPopularity
from trimtab.spark.session import Session


def test_the_error_grows_with_the_drop_ratio(spark: Session, tmp_path: Path) -> None:
    write_documentation_posts(tmp_path / "Posts.xml", 200_000)
    program = WordPopularity(tmp_path / "Posts.xml", partitions=20, reduce_tasks=2)
    errors = measure_accuracy(spark, program, [0.0, 0.2, 0.8], repeats=3)
    assert errors.theta.tolist() == [0.0] * 3 + [0.2] * 3 + [0.8] * 3
    means = errors.groupby("theta").error_pct.mean()
    assert means[0.0] == 0 < means[0.2] < means[0.8]
    assert errors[errors.theta == 0.2].error_pct.nunique() == 3  # each repeat drops other tasks
