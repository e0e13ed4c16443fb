"""What weighing a chain waits for: saved starts if they are wanted, and what others measured."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from trimtab.config import Configurations
from trimtab.workflow.stages.worth import WorthStages

PROJECT = Path(__file__).resolve().parents[3]
CELL = SimpleNamespace(cluster="chain", trace="chain", queue_policy="easy")


@pytest.mark.parametrize("start", ["snapshot", "usual"])
def test_saved_starts_are_inputs_where_they_are_wanted(start: str) -> None:
    overrides = ["experiment=chain", f"debloat.start={start}"]
    stage = WorthStages(Configurations(PROJECT / "conf", overrides))
    found = stage.environments(CELL)
    starts = [path for path in found if path.endswith("/start.json")]
    assert len(starts) == 3 * (start == "snapshot")
    assert len(found) - len(starts) == 2 * 3  # of three programs that this experiment makes slim


def test_what_was_measured_elsewhere_is_an_input() -> None:
    stage = WorthStages(Configurations(PROJECT / "conf", ["experiment=chain"]))
    found = stage.measured(CELL)
    assert len(found) == 2 and all((PROJECT / path).is_file() for path in found)
    assert len(stage.environments(CELL)) == 9  # the shipped experiment wants saved starts
