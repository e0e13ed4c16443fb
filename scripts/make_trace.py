"""Rule make_trace: the jobs of a trace as a cluster meets them."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a TraceStage, JSON")
parser.add_argument("--rounds", type=Path, nargs="*", required=True, help="rounds.json")
parser.add_argument("--verify-runs", type=Path, nargs="*", required=True, help="RUNS of targets")
parser.add_argument("--libraries", type=Path, nargs="*", required=True, help="LIBRARIES of targets")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import TraceStage, read
    from trimtab.scheduling.measured import read_measured
    from trimtab.scheduling.trace.make_trace import make_trace

    stage = read(arguments.config, TraceStage)
    measured = read_measured(
        stage,
        rounds=arguments.rounds,
        verify_runs=arguments.verify_runs,
        libraries=arguments.libraries,
    )
    make_trace(stage, measured, arguments.output)
