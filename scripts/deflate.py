"""Rule deflate: drop ratios and sprint timeouts that meet an objective."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a DeflateStage, JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import DeflateStage, read
    from trimtab.scheduling.deflate import deflate
    from trimtab.scheduling.setting import setting_of

    stage = read(arguments.config, DeflateStage)
    setting = setting_of(stage, arguments.trace, arguments.facts)
    deflate(setting, stage.objective).write(arguments.output)
