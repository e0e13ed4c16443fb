"""The times of the rounds of a trace's programs, on a real Spark."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.config.stages import TraceStage
from trimtab.execution.spark.rounds import round_times
from trimtab.records.measured_rounds import MeasuredRounds
from trimtab.spark.programs.prepare import prepare
from trimtab.spark.session import spark_session


def measure_rounds(stage: TraceStage) -> MeasuredRounds:
    """Return the times of the rounds of each class, every one of which names a program."""
    with TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(stage.trace.classes, Path(folder))
        load_average = os.getloadavg()[0]
        with spark_session(Path(folder) / "log", stage.cluster.engine_slots) as session:
            times = round_times(session, programs)
    return MeasuredRounds(classes=times, load_average_before=load_average)
