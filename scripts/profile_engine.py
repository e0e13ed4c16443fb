"""Rule profile_engine: the times of the rounds of a trace's programs on a real Spark."""

import argparse
import os
from pathlib import Path

from trimtab.config.stages import TraceStage, load
from trimtab.errors import exit_on_error
from trimtab.execution.spark.rounds import profile_engine
from trimtab.files import write_json

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="a TraceStage as JSON")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, TraceStage)
    load_average = os.getloadavg()[0]
    classes = profile_engine(stage.trace.classes, stage.cluster.engine_slots)
    write_json(arguments.output, {"classes": classes, "load_average_before": load_average})
