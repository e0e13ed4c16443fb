"""Rule headlines: the few figures and charts of an experiment that DVC compares."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--evaluated", type=Path, required=True, help="folder of the report")
parser.add_argument("--metrics", type=Path, required=True, help="the JSON file to write")
parser.add_argument("--charts", type=Path, required=True, help="the folder to write")
arguments = parser.parse_args()

with supervised():
    from trimtab.workflow.headlines import write_headlines

    write_headlines(arguments.evaluated, arguments.metrics, arguments.charts)
