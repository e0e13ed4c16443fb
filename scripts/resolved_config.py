"""Rule resolved_config: everything the experiment was run with, as YAML."""

import argparse
from pathlib import Path

from trimtab.files import atomic_write, read_json
from trimtab.processes.supervision import supervised

PLURALS = {"hardware": "hardware", "policy": "policies"}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="the configuration, JSON")
parser.add_argument("--output", type=Path, required=True, help="the YAML file")
arguments = parser.parse_args()

with supervised(), atomic_write(arguments.output) as temporary:
    import yaml

    document = read_json(arguments.config)
    for group, options in document.pop("options").items():
        document[PLURALS.get(group, f"{group}s")] = options
    temporary.write_text(yaml.safe_dump(document, sort_keys=True))
