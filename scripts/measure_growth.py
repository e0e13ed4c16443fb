"""Rule measure_growth: the lines of a code base by the year in which they came."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a GrowthStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of lines.parquet")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import GrowthStage, read
    from trimtab.growth.measure import measure_growth

    stage = read(arguments.config, GrowthStage)
    measure_growth(
        stage.code_base,
        stage.tip,
        arguments.output,
        lambda done, total: print(f"{done} of {total} samples", flush=True),
    )
