"""What `trimtab debloat` says in five lines: of which the fifth is the path of the environment."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.cli.result_lines import format_settled, result_lines
from trimtab.config.groups.debloat import Debloat
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Settling, SlimRun

CLEAN = Settling(
    target="t", hardware="h", clean_runs=2, builds=1, settled=True,
    runs=[SlimRun("w", "", 0), SlimRun("w", "", 0)],
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({}, "the original, unchanged (with --fallback packed: nothing)"),
        ({"fallback": "packed"}, "nothing else"),
        ({"fallback": "none"}, "nothing else, and brings nothing back"),
        ({"fallback": "store", "store": "kept"}, "the store kept"),
        ({"fallback": "store", "store": "s", "store_address": "http://a/"}, "the store http://a/"),
        (
            {"fallback": "store", "store": "s", "store_address": "/trimtab/store"},
            "the store /trimtab/store, or `trimtab image push`",
        ),
    ],
)
def test_the_lines(options: dict[str, str], needs: str, tmp_path: Path) -> None:
    (environment,) = outcome_in(files.weigh(files.write_debloat(tmp_path))).environments
    lines = dict(result_lines(tmp_path, environment, Debloat(name="x", **options), CLEAN))  # type: ignore[arg-type]
    assert list(lines) == ["before", "after", "settled", "needs"]
    assert lines["before"].startswith("40.0 MB, compressed ")
    assert lines["after"].startswith("24.0 MB (-40.0 %), compressed ")
    assert lines["settled"] == "yes: 2 of 2 runs missed nothing"
    assert lines["needs"] == needs


def test_what_was_missed_and_what_never_settled_is_said() -> None:
    missed = {
        "missed": [RemovedCall("lib/x.so", 16, "f", 1)], "missed_files": ["a", "b"],
        "builds": 2, "runs": [SlimRun("w", "", 0, [0]), SlimRun("w", "", 0), SlimRun("w", "", 1)],
    }  # fmt: skip
    words = format_settled(Settling.model_validate({**CLEAN.to_json(), **missed}))
    assert words == "yes: 2 of 2 runs missed nothing; 3 missed before, now kept"
    never = {"settled": False, "why_not": "no run was asked for"}
    words = format_settled(Settling.model_validate({**CLEAN.to_json(), **never}))
    assert words == "no: no run was asked for"
