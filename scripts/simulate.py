"""Rule simulate: a trace on a cluster under a policy."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a ScheduleStage, JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import ScheduleStage, read
    from trimtab.scheduling.cell import simulate_cell
    from trimtab.scheduling.setting import setting_of

    stage = read(arguments.config, ScheduleStage)
    simulate_cell(
        setting_of(stage, arguments.trace, arguments.facts),
        stage.policy,
        replications=stage.replications,
        is_baseline=stage.baseline,
        destination=arguments.output,
    )
