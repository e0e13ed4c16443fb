"""Rule profile_engine: the times of the stages of a trace's programs on a real Spark."""

import argparse
import os
import tempfile
from pathlib import Path

from trimtab.config.stages import TraceStage, load
from trimtab.errors import exit_on_error
from trimtab.execution.spark.programs import measure_stages, prepare
from trimtab.files import write_json
from trimtab.spark.session import spark_session

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="a TraceStage as JSON")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, TraceStage)
    with tempfile.TemporaryDirectory(prefix="trimtab-spark-") as name:
        programs = prepare(stage.trace.classes, Path(name))
        load_average = os.getloadavg()[0]
        with spark_session(Path(name) / "log", stage.cluster.engine_slots) as session:
            measured = measure_stages(session, programs)
    write_json(arguments.output, {"classes": measured, "load_average_before": load_average})
