"""Rule profile_engine: the times of the rounds of a trace's programs on a real Spark."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a TraceStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="rounds.json")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import TraceStage, read
    from trimtab.execution.spark.rounds import measure_rounds

    measure_rounds(read(arguments.config, TraceStage)).write(arguments.output)
