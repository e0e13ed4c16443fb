"""Rule make_trace: the jobs of a trace as a cluster meets them."""

import argparse
import json
from pathlib import Path

from trimtab.config.stages import TraceStage, load
from trimtab.errors import exit_on_error
from trimtab.scheduling.make_trace import make_trace
from trimtab.scheduling.measured import measured_workload

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="a TraceStage as JSON")
parser.add_argument("--stages", type=Path, nargs="*", required=True, help="stages.json")
parser.add_argument("--verify-runs", type=Path, nargs="*", required=True, help="RUNS of targets")
parser.add_argument("--libraries", type=Path, nargs="*", required=True, help="LIBRARIES of targets")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, TraceStage)
    idle_w = {machine.name: machine.idle_w for machine in stage.hardware}
    named = {name: facts for name, facts in stage.trace.classes.items() if facts.workload}
    measured, original = (
        {
            name: measured_workload(
                arguments.verify_runs, arguments.libraries, facts.workload, environment, idle_w
            )
            for name, facts in named.items()
            for environment in [always or facts.environment]
        }
        for always in ("", "original")
    )
    stages = {
        name: facts
        for path in arguments.stages
        for name, facts in json.loads(path.read_text())["classes"].items()
    }
    make_trace(
        stage.trace, stage.cluster, stage.hardware, measured, original, stages, arguments.output
    )
