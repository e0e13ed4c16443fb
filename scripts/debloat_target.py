"""Rule debloat_target: the libraries of a target without what no run of its workloads used."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a DebloatStage, JSON")
parser.add_argument("--usages", type=Path, nargs="+", required=True, help="usage.json, in order")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output):
    from trimtab.config.stages import DebloatStage, read
    from trimtab.debloating.settling import debloat_and_settle

    debloat_and_settle(read(arguments.config, DebloatStage), arguments.usages, arguments.output)
