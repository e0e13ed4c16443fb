"""`trimtab verify`: whether a slim environment's program does what it did."""

from rich.text import Text

from trimtab.cli import workspace
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.config_options.run_counts import OF_VERIFY, RunCounts
from trimtab.cli.output.console import console
from trimtab.cli.program_options import HELD_OUT
from trimtab.cli.single_steps.forgetting import say_what_came_back
from trimtab.cli.single_steps.usual_starts import say_why_starts_are_usual
from trimtab.cli.steps import WORKSPACE, WorkspaceOption
from trimtab.cli.summary import format_missed, held_out_table
from trimtab.cli.workspace_lock import alone_in
from trimtab.debloating.verification.verify import NotJudgedError, VerificationError
from trimtab.errors import escape_control_characters
from trimtab.records.verdict import Verdict


@alone_in("folder")
@option_groups(counts=OF_VERIFY, held_out=HELD_OUT)
def verify(
    counts: RunCounts, held_out: list[list[str]], folder: WorkspaceOption = WORKSPACE
) -> None:
    """Run the debloated program again in both environments and compare what it does.

    Ends with 1 where the program, or a held-out input, does something else in the slim environment,
    and with 2 where one cannot be judged: it fails in the original, or varies there.
    """
    repeats = counts.verify.repeats
    try:
        with console.step(f"verifying: {repeats} runs in each environment"):
            path = workspace.verify(folder, repeats, held_out)
    except VerificationError:
        verdict = Verdict.read(folder / "failure/verify.json")
        console.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    except NotJudgedError:
        verdict = Verdict.read(folder / "verify.json")
        console.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    verdict = Verdict.read(path)
    [verified] = verdict.workloads
    end = f", which {verified.ended}" if verified.ended else ""
    console.notes.print(f"equal output in every run{end}", style="green")
    say_what_came_back(folder)
    say_why_starts_are_usual(folder)
    if verified.risk is not None:
        clean = f"{verified.clean_runs} of {verified.slim_runs} runs missed nothing"
        console.notes.print(f"{clean}; {verified.risk}", soft_wrap=True)
    if verdict.machine and verdict.machine.busy:
        said = f"the machine was busy: {verdict.machine.busy}; measure again when it is idle"
        console.notes.print(said, style="yellow", soft_wrap=True)
    if missed := verdict.missed_files:
        said = f"{len(missed):,} removed files were looked for: {missed[0]}"
        console.notes.print(said, soft_wrap=True)
    _tell_held_out(verdict)
    console.path(path)
    console.result(verdict.to_json())


def _tell_held_out(verdict: Verdict) -> None:
    if verdict.held_out:
        console.notes.print(held_out_table(verdict.held_out))
        for line in format_missed(verdict.held_out):
            console.notes.print(Text(escape_control_characters(line)), soft_wrap=True)
