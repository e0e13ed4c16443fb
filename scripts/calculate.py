"""Rule calculate: the response times of a cell by formula."""

import argparse
import json
from pathlib import Path

from trimtab.config.stages import ScheduleStage, load
from trimtab.errors import UserError, exit_on_error
from trimtab.files import write_json
from trimtab.scheduling.engine_model import engine_classes, engine_power
from trimtab.scheduling.formula import response_by_formula
from trimtab.scheduling.make_trace import with_stages
from trimtab.scheduling.measured import workloads_of

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="a ScheduleStage as JSON")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, ScheduleStage)
    facts = json.loads(arguments.facts.read_text())
    original, trace = workloads_of(facts["original"]), with_stages(stage.trace, facts["stages"])
    document = {"model": "", "classes": {}, "not_possible_because": ""}
    try:
        classes = engine_classes(trace, stage.cluster, stage.hardware, original)
        power = engine_power(stage.cluster, stage.hardware)
        document["classes"] = response_by_formula(classes, power, stage.policy)
        document["model"] = "phase-type processing times, Poisson arrivals"
    except UserError as error:  # a finding, not a failure: the other cells have a formula
        document["not_possible_because"] = str(error)
    write_json(arguments.output, document)
