"""Failures that no configuration can mend: they end a search at once."""

import re
from collections.abc import Iterable, Sequence

from trimtab.config.validate import nearest
from trimtab.errors import TrimtabError, UserError
from trimtab.tuning.trials.events import EndReason, TrialEnded

_SAME_IN_A_ROW = 3
_OPTION = re.compile(r"--[\w-]+")
_NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")
# Of argparse, click and typer, absl, getopt, Rust's clap, Go, Fire, and transformers.
_REFUSED = re.compile(
    r"unrecognized (arguments|option)|no such option|unknown (command line flag|option|argument)"
    r"|option \S+ not recognized|unexpected argument|flag provided but not defined"
    r"|could not consume arg|are not used by the HfArgumentParser",
    re.IGNORECASE,
)
# A configuration may be the cause, as a batch that is too large.
_OF_CONFIGURATION = (EndReason.OUT_OF_MEMORY, EndReason.NOT_A_NUMBER, EndReason.TIMED_OUT)


class ProgramFaults:
    """The failures of one search, in the order of their ends.

    `options` are the parameters' names that the program gets as options; `any_score` says whether
    earlier processes found a score.
    """

    def __init__(self, options: Iterable[str], *, any_score: bool) -> None:
        self._options = {f"--{name.replace('_', '-')}": name for name in options}
        self._any_score = any_score
        self._last, self._in_a_row = "", 0

    def succeeded(self) -> None:
        """Count a trial with a score."""
        self._any_score, self._last, self._in_a_row = True, "", 0

    def failed(self, ended: TrialEnded, reason: str, last_lines: Sequence[str]) -> None:
        """Count a failed trial; `last_lines` are of its program's standard error.

        Raises UserError for an option that the program does not take, and for a program that
        reported nothing, unless a trial had a score. Raises TrimtabError for the same failure,
        whatever its numbers, three times in a row.
        """
        if not self._any_score:
            self._refuse_option(ended, last_lines)
            if not ended.reason.is_failure and not ended.epochs:
                raise UserError(reason)
        elif ended.reason in _OF_CONFIGURATION:
            return
        same = _NUMBER.sub("#", reason)
        self._in_a_row = self._in_a_row + 1 if same == self._last else 1
        self._last = same
        if self._in_a_row >= _SAME_IN_A_ROW:
            shown = "".join(f"\n  {line}" for line in last_lines)
            raise TrimtabError(
                f"{_SAME_IN_A_ROW} trials in a row failed alike: {reason}"
                + (f"\nThe last one's last lines:{shown}" if shown else "")
                + "\nOnce this is mended, the same command continues the search."
            )

    def _refuse_option(self, ended: TrialEnded, last_lines: Sequence[str]) -> None:
        """Raise UserError where the program says that it does not know one of the options."""
        if ended.reason != EndReason.FAILED or ended.epochs:
            return
        for line in filter(_REFUSED.search, last_lines):
            words = re.findall(r"[\w-]+", line)
            told = {f"--{word.lstrip('-').replace('_', '-')}" for word in words}
            known = set(_OPTION.findall(" ".join(last_lines))) - set(self._options)
            for option in sorted(self._options.keys() & told):
                raise UserError(_told_of(option, self._options[option], known, line))


def _told_of(option: str, name: str, known: Iterable[str], line: str) -> str:
    if name in ("epochs", "data_fraction"):
        return (
            f"the program takes no {option}, with which the tuner says how long to train; add the"
            f" option to the program, or write {{{name}}} where the command has it. It said: {line}"
        )
    return (
        f"--parameter {name}: the program takes no {option}; {nearest(option, known)}"
        f"expected the name of one of its options. It said: {line}"
    )
