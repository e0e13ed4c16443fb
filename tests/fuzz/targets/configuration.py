"""A YAML file of `conf/`: the root with its defaults, a workload or an experiment."""

import shutil
from pathlib import Path

from trimtab.config import Configurations
from trimtab.errors import TrimtabError

ERRORS = TrimtabError
_CONF = Path(__file__).parents[3] / "conf"
PLACES = ["config.yaml", "experiment/quickstart.yaml", "debloat/compact.yaml"]


def run(data: bytes, folder: Path) -> None:
    conf = folder / "conf"
    shutil.copytree(_CONF, conf)
    places = [place for place in PLACES if (conf / place).is_file()]
    (conf / places[(data[0] if data else 0) % len(places)]).write_bytes(data[1:])
    Configurations(conf)
