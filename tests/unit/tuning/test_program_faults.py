"""Failures that no configuration mends, as libraries for command lines put them."""

import pytest

from trimtab.errors import TrimtabError, UserError
from trimtab.tuning.search.program_faults import ProgramFaults
from trimtab.tuning.trials.events import EndReason, TrialEnded


def ended(reason: EndReason = EndReason.FAILED, epochs: int = 0) -> TrialEnded:
    return TrialEnded(reason, "ended with exit code 2", 2, epochs, 1.0, 0.0, None, 1.0, 0)


def faults(*, any_score: bool = False) -> ProgramFaults:
    return ProgramFaults(["learnin_rate", "epochs"], any_score=any_score)


@pytest.mark.parametrize(
    "line",
    [
        "train.py: error: unrecognized arguments: --learnin-rate 0.1",  # argparse
        "Error: No such option: --learnin-rate (Possible options: --learning-rate)",  # click
        "train.py: error: no such option: --learnin-rate",  # optparse
        "FATAL Flags parsing error: Unknown command line flag 'learnin_rate'",  # absl
        "getopt.GetoptError: option --learnin-rate not recognized",
        "train: unrecognized option '--learnin-rate'",  # GNU
        "error: unexpected argument '--learnin-rate' found",  # clap
        "flag provided but not defined: -learnin-rate",  # Go
        "ERROR: Could not consume arg: --learnin-rate",  # Fire
        "ValueError: Some specified arguments are not used by the HfArgumentParser: "
        "['--learnin-rate', '0.1']",
    ],
)
def test_an_option_that_is_refused(line: str) -> None:
    usage = "usage: train.py [--learning-rate LEARNING_RATE]"
    with pytest.raises(UserError) as refused:
        faults().failed(ended(), "reason", [usage, line])
    said = str(refused.value)
    assert said.startswith("--parameter learnin_rate: the program takes no --learnin-rate;")
    assert "did you mean --learning-rate?" in said and line in said
    faults(any_score=True).failed(ended(), "reason", [usage, line])  # it took it before
    faults().failed(ended(epochs=1), "reason", [usage, line])
    faults().failed(ended(), "reason", ["FileNotFoundError: no such file: --learnin-rate"])


def test_the_option_of_the_epochs() -> None:
    with pytest.raises(UserError, match=r"takes no --epochs.*write \{epochs\} where"):
        faults().failed(ended(), "reason", ["error: unrecognized arguments: --epochs 3"])


def test_the_same_reason_thrice_whatever_its_numbers() -> None:
    for between, raises in (("x 4: -1e-3", True), ("y 4: 2", False), (None, False)):
        one = faults()
        one.failed(ended(), "x 1: 2.5", [])
        one.failed(ended(), "x 22: 7", ["last words"])
        if between is None:
            one.succeeded()
            between = "x 4: 2"
        if raises:
            with pytest.raises(TrimtabError, match="3 trials in a row failed alike: x 4"):
                one.failed(ended(), between, ["last words"])
        else:
            one.failed(ended(), between, [])


@pytest.mark.parametrize(
    "reason", [EndReason.OUT_OF_MEMORY, EndReason.NOT_A_NUMBER, EndReason.TIMED_OUT]
)
def test_what_a_configuration_may_cause(reason: EndReason) -> None:
    """It ends a search only where nothing else has happened yet."""
    one = faults(any_score=True)
    for _ in range(9):
        one.failed(ended(reason), "out", [])
    first = faults()
    first.failed(ended(reason), "out", [])
    first.failed(ended(reason), "out", [])
    with pytest.raises(TrimtabError, match="in a row"):
        first.failed(ended(reason), "out", [])


def test_nothing_reported() -> None:
    with pytest.raises(UserError, match="what to write"):
        faults().failed(ended(EndReason.FINISHED), "what to write", [])
    faults(any_score=True).failed(ended(EndReason.FINISHED), "what to write", [])
