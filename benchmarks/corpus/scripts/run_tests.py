"""Tests that a package ships: `run_tests.py PACKAGE MODULE ... [--leave-out TEXT ...]`.

Prints the outcome of every test, a line each, in the order of their names: nothing of it changes
from run to run, as pytest's own output does. MODULE is a file or a folder within PACKAGE; a test
whose name holds a TEXT is left out. The exit code is pytest's.
"""

import argparse
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Outcomes:
    """What became of each test: the worst of its set-up, its call and its end."""

    def __init__(self, left_out):
        self.left_out, self.of = left_out, {}

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item for item in items if not any(text in item.nodeid for text in self.left_out)
        ]

    def pytest_runtest_logreport(self, report):
        expected = "x" if hasattr(report, "wasxfail") else ""
        if report.when == "call" or report.outcome != "passed":
            self.of[report.nodeid] = expected + report.outcome

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.of[report.nodeid] = f"collection {report.outcome}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package")
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--leave-out", nargs="*", default=[])
    given = parser.parse_args()
    package = Path(importlib.util.find_spec(given.package).origin).parent
    try:
        import hypothesis
    except ModuleNotFoundError:
        pass
    else:
        hypothesis.settings.register_profile(
            "corpus", derandomize=True, database=None, deadline=None
        )
        hypothesis.settings.load_profile("corpus")
    outcomes = Outcomes(given.leave_out)
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        f"--rootdir={package.parent}",
        "-W",
        "ignore",
    ]
    with open(os.devnull, "w") as nowhere:
        stdout, sys.stdout = sys.stdout, nowhere
        code = pytest.main(
            [*options, *(str(package / module) for module in given.modules)], [outcomes]
        )
        sys.stdout = stdout
    for name in sorted(outcomes.of):
        print(outcomes.of[name], ADDRESS.sub("0x", name))
    sys.exit(int(code))


if __name__ == "__main__":
    main()
