"""make docs: the reference of every YAML key."""

import argparse
from pathlib import Path

from trimtab.config.reference import reference
from trimtab.files import whole_file

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("page", type=Path, help="the Markdown file to write")
arguments = parser.parse_args()

with whole_file(arguments.page) as temporary:
    temporary.write_text(reference())
