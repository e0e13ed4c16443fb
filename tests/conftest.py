"""Tests that were skipped can be run again by themselves, once what they need is there."""

import gc
import os
import re
import signal
from pathlib import Path

import hypothesis
import pytest

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("trimtab", deadline=None)
hypothesis.settings.load_profile("trimtab")

KEPT = "trimtab/skipped"

# As many processes as cores run tests: threads of linear algebra would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Collection imports everything and lets go of nothing: looking for garbage takes a quarter of it.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--skipped-before", action="store_true", help="run what the last run skipped, nothing else"
    )


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the tests in the background has Ctrl-C ignored, which programs inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    of_worker = hasattr(config, "workerinput")  # of xdist, whose controller hears of all tests
    if not of_worker and config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(Skipped(config))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of which nothing was skipped: importing all takes longer than these tests."""
    if not config.getoption("--skipped-before") or collection_path.is_dir():
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return name not in {each.split("::")[0] for each in config.cache.get(KEPT, {})} or None


# Before pytest-xdist's, which takes the groups from the marks and adds them to the names.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None and shares_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    if config.getoption("--skipped-before"):
        # Functions, not cases: of files that were not there no case was made.
        before = {function_of(name) for name in config.cache.get(KEPT, {})}
        kept, others = [], []
        for item in items:
            was_skipped = {function_of(item.nodeid), item.nodeid.split("::")[0]} & before
            (kept if was_skipped else others).append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = kept


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays: no test has to look through it again
    gc.enable()


def shares_fixture(item: pytest.Item) -> bool:
    """Tell whether a fixture of the test is made once for its module.

    Every worker that has such a test makes the fixture again.
    """
    definitions = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009  pytest has no other
    return any(used[-1].scope == "module" for used in definitions.values() if used)


def function_of(name: str) -> str:
    return name.partition("[")[0]


class Skipped:
    """Keeps which tests, or whole files, were skipped and why, for the next run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.why: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._keep(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._keep(report)

    def _keep(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # An expected failure is reported as skipped too, without a place and a reason.
        if report.skipped and isinstance(report.longrepr, tuple):
            name = re.sub(r"@[^@\]]*$", "", report.nodeid)  # xdist puts the group behind it
            self.why[name] = report.longrepr[2].removeprefix("Skipped: ")

    def pytest_sessionfinish(self) -> None:
        self.config.cache.set(KEPT, self.why)
