"""For scripts/deps_data.sh: data sets of Debian's packages, as the characterization reads them."""

import argparse
from pathlib import Path

from trimtab.characterization.debian import convert
from trimtab.errors import TrimtabError

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("root", type=Path, help="folder in which the packages are unpacked")
parser.add_argument("destination", type=Path, help="folder of the data sets")
arguments = parser.parse_args()
try:
    convert(arguments.root, arguments.destination)
except TrimtabError as error:
    parser.exit(1, f"{error}\n")
