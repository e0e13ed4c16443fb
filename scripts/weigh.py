"""Rule weigh: what each stage of the chain saves the jobs of a trace."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a WorthStage, JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--environments", type=Path, nargs="*", required=True, help="of slim ones")
parser.add_argument("--searches", type=Path, nargs="*", required=True, help="TRIALS of tuners")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import WorthStage, read
    from trimtab.scheduling.worth import ChainInputs, weigh_chain

    weigh_chain(
        read(arguments.config, WorthStage),
        ChainInputs.of(
            arguments.trace, arguments.facts, arguments.environments, arguments.searches
        ),
        arguments.output,
    )
