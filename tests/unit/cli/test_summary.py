"""What the command line says of inputs that were held out."""

from trimtab.cli.summary import held_out_table
from trimtab.records.misses.held_out import HeldOutInput, HeldOutRun
from trimtab.records.misses.removed_calls import RemovedCall

CALL = RemovedCall("lib/x.so", 16, "f", 1)
RUNS = [
    HeldOutRun("strict", 1, [CALL], ended="ended with exit code 70"),
    HeldOutRun("report", 2, equal=False),
    HeldOutRun("restore", 1, [CALL], equal=True),
]


def ends(exit_code: int, workload_exit_code: int) -> list[object]:
    """Return the last column of the table of an input."""
    held = HeldOutInput("w", "suite", ["python", "x"], RUNS, exit_code, workload_exit_code)
    return list(map(str, held_out_table([held]).columns[-1].cells))


def test_an_exit_code_of_its_own_is_told_with_the_output() -> None:
    own = "ended with exit code 1, as in the original, with"
    assert ends(1, 0) == ["ended with exit code 70", f"{own} another output", f"{own} equal output"]
    assert ends(0, -15)[-1] == "ended with exit code 0, as in the original, with equal output"


def test_nothing_is_told_of_an_end_that_is_the_workloads() -> None:
    plain = ["ended with exit code 70", "with another output", "with equal output"]
    assert ends(0, 0) == ends(1, 1) == ends(-15, -15) == plain
