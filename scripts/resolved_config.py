"""Rule resolved_config: everything the experiment was run with, as YAML."""

import argparse
from pathlib import Path

from trimtab.files import atomic_write, read_json
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="the configuration, JSON")
parser.add_argument("--output", type=Path, required=True, help="the YAML file")
arguments = parser.parse_args()

with supervised(), atomic_write(arguments.output) as temporary:
    import yaml

    temporary.write_text(yaml.safe_dump(read_json(arguments.config), sort_keys=True))
