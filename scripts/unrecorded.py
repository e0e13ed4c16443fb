"""DVC's stage: give back the results that DVC deleted and no lock records, or forget them."""

import argparse

from trimtab.workflow.unrecorded import forget, put_back

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("what", choices=["put_back", "forget"])
{"put_back": put_back, "forget": forget}[parser.parse_args().what]()
