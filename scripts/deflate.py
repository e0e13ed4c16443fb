"""Rule deflate: drop ratios and sprint timeouts that meet an objective."""

import argparse
import json
from pathlib import Path

from trimtab.config.stages import DeflateStage, load
from trimtab.errors import exit_on_error
from trimtab.files import write_json
from trimtab.scheduling.deflate import deflate
from trimtab.scheduling.schedule import Setting

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="a DeflateStage as JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, DeflateStage)
    document = json.loads(arguments.facts.read_text())
    setting = Setting(stage.cluster, stage.hardware, stage.trace, arguments.trace, document)
    write_json(arguments.output, deflate(setting, stage.objective))
