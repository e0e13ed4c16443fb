"""Rule calculate: the response times of a cell by formula."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a ScheduleStage, JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import ScheduleStage, read
    from trimtab.scheduling.formula import calculate
    from trimtab.scheduling.setting import setting_of

    stage = read(arguments.config, ScheduleStage)
    setting = setting_of(stage, arguments.trace, arguments.facts)
    calculate(setting, stage.policy).write(arguments.output)
