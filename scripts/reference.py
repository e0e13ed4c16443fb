"""make docs: the reference of every YAML key."""

import argparse
from pathlib import Path

from trimtab.config.reference import reference
from trimtab.files import atomic_write

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("page", type=Path, help="the Markdown file to write")
arguments = parser.parse_args()

with atomic_write(arguments.page) as temporary:
    temporary.write_text(reference())
