"""Options of `trimtab tune` for a program: the key `tuning` of a workload's YAML."""

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.workspace import find_interpreter, find_program
from trimtab.config.fields import MistakeError
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Marks, Phase, TargetConfig, Workload
from trimtab.config.validate import checked, nearest
from trimtab.errors import UserError

_SPELLING = "KIND.NAME=LOW:HIGH, KIND.NAME=LOW:HIGH:log or KIND.NAME=A,B,C"
_IF, _AND = " if ", " and "  # before a parameter's conditions, and between them
_INFERENCE = "inference"  # name of the inference workload
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class TunedProgram:
    """A tuned program's options, except its command, as typed."""

    parameters: list[str]
    epochs: str | None = None
    data_fraction: float | None = None
    metric: str = "accuracy"
    epoch_mark: str | None = None
    timeout_s: float = 3600.0
    inference_command: str | None = None
    python: Path | None = None
    forbid: Sequence[str] = ()

    def workload(self, command: list[str]) -> Workload:
        """Return the workload; it runs in the current folder.

        Raises UserError for a missing program, and for an invalid option.
        """
        if not find_program(command[0], self.python):
            raise UserError(
                f"{command[0]}: no such program; give the command as you run it, after --, or the"
                " name of a file in conf/workload/ without --parameter"
            )
        if self.epochs is None:
            raise UserError("--epochs is missing: LEAST:MOST, as 2:10, that a trial is trained for")
        plain = self._plain(command)
        try:
            marks = checked({"epoch": self.epoch_mark}, Marks)
        except MistakeError as error:
            raise UserError(f"--epoch-mark: {error.problem}") from None
        return replace(plain, marks=marks, tuning=self._tuning(self.epochs))

    def inference_workload(self, trains: Workload) -> Workload | None:
        """Return the inference workload of the tuned program, if given.

        It has all of the model's parameters. Raises UserError for a missing program.
        """
        if self.inference_command is None or trains.tuning is None:
            return None
        try:
            command = shlex.split(self.inference_command)
        except ValueError as error:
            raise UserError(f"--inference-command {self.inference_command}: {error}") from None
        if not command or not find_program(command[0], self.python):
            raise UserError(
                f"--inference-command {self.inference_command}: no such program; expected the"
                " command as you run it, in quotes"
            )
        own = {name: one.default for name, one in trains.tuning.model.items()}
        size = trains.tuning.inference.get("batch_size")
        return replace(
            self._plain(command),
            name=_INFERENCE,
            phase=Phase.INFERENCE,
            parameters={**own, "batch_size": 1 if size is None else size.default},
        )

    def _plain(self, command: list[str]) -> Workload:
        # A placeholder for the environment of a program without interpreter, not needed here.
        target = TargetConfig(location=str(Path.cwd()))
        options = ProgramOptions(target=target, timeout_s=self.timeout_s)
        return options.workload(command, self.python or find_interpreter(command))

    def _tuning(self, epochs: str) -> Tuning:
        kinds: dict[str, dict[str, Any]] = {}
        for text in self.parameters:
            kind, name, keys = parameter_of(text)
            if name in kinds.setdefault(kind, {}):
                raise UserError(f"--parameter {text}: {kind}.{name} is given twice")
            kinds[kind][name] = keys
        every = {
            f"{kind}.{name}": keys for kind, own in kinds.items() for name, keys in own.items()
        }
        for name, keys in every.items():
            when = keys.get("when", {})
            keys["when"] = {full_name(o, every, f"--parameter {name}"): v for o, v in when.items()}
        given: dict[str, Any] = {**kinds, "epochs": _epochs(epochs), "metric": self.metric}
        given["forbidden"] = [forbidden_in(text, every) for text in self.forbid]
        if self.data_fraction is not None:
            given["data_fraction"] = {"least": self.data_fraction}
        if self.inference_command is not None:
            given["inference_workload"] = _INFERENCE
            if Kind.INFERENCE not in kinds:
                raise UserError(
                    "--inference-command: no parameter of the kind inference; expected one, as"
                    " --parameter inference.batch_size=1,8,64"
                )
        elif Kind.INFERENCE in kinds:
            raise UserError(
                f"--parameter {Kind.INFERENCE}.{next(iter(kinds[Kind.INFERENCE]))}: nothing uses"
                " the model; expected --inference-command"
            )
        try:
            return checked(given, Tuning)
        except MistakeError as error:
            default = "; a first choice is a default" if error.key.startswith("forbidden") else ""
            raise UserError(f"the options of what is tuned: {error}{default}") from None


def full_name(name: str, names: Collection[str], option: str) -> str:
    """Return which of the full `names` is meant; without a kind, the program's parameters first.

    Raises UserError, about the `option`, for none.
    """
    for kind in ("", *(f"{one}." for one in Kind)):
        if f"{kind}{name}" in names:
            return f"{kind}{name}"
    hint = nearest(name, [*names, *(one.partition(".")[2] for one in names)])
    expected = ", ".join(names)
    raise UserError(f"{option}: unknown parameter {name}; {hint}expected one of {expected}")


def forbidden_in(text: str, names: Collection[str]) -> dict[str, Any]:
    """Parse typed values that no trial has together, as batch_size=512,precision=fp32.

    Raises UserError for invalid syntax, and for none of the full `names`.
    """
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise UserError(f"--forbid {text}: expected NAME=VALUE,NAME=VALUE")
    return {
        full_name(name.strip(), names, f"--forbid {text}"): _scalar(value.strip())
        for name, _, value in pairs
    }


def parameter_of(text: str) -> tuple[str, str, dict[str, Any]]:
    """Parse a typed parameter into its kind, name and keys.

    Conditions, as in `model.NAME=1,2 if optimizer=sgd,adam and NAME=VALUES`, are in the key `when`,
    by names as typed. A range of whole numbers is an integer range. The default is for tuners that
    do not search this kind: the first choice, the middle of a range, or the maximum of a `system`
    range. Raises UserError for invalid syntax.
    """
    text, *conditions = text.split(_IF)
    if conditions:
        kind, name, keys = parameter_of(text)
        return kind, name, {**keys, "when": _conditions(conditions)}
    kind_and_name, _, values = text.partition("=")
    kind, _, name = kind_and_name.partition(".")
    if kind not in list(Kind) or not name or not values:
        raise UserError(f"--parameter {text}: expected {_SPELLING}, where KIND is {_kinds()}")
    low, *more = values.split(":")
    if not more or not isinstance(_scalar(low), int | float):
        choices = [_scalar(word) for word in values.split(",")]
        if "" in choices:
            raise UserError(f"--parameter {text}: expected {_SPELLING}, each a value")
        return kind, name, {"choices": choices, "default": choices[0]}
    ends = [_scalar(low), _scalar(more[0])]
    if more[1:] not in ([], ["log"]) or not all(_is_finite(end) for end in ends):
        raise UserError(f"--parameter {text}: expected {_SPELLING}")
    log, whole = more[1:] == ["log"], all(isinstance(end, int) for end in ends)
    least, most = ends
    middle = math.sqrt(least * most) if log and least > 0 < most else (least + most) / 2
    default = most if kind == Kind.SYSTEM else round(middle) if whole else middle
    default = min(max(default, least), most)  # so that no error is about the default
    return kind, name, {"low": least, "high": most, "log": log, "whole": whole, "default": default}


def _conditions(texts: Sequence[str]) -> dict[str, list[Any]]:
    pairs = [pair.partition("=") for text in texts for pair in text.split(_AND)]
    for name, _, values in pairs:
        if not name.strip() or not all(word.strip() for word in values.split(",")):
            raise UserError(
                f"--parameter: {_IF.strip()} {name}={values}: expected {_SPELLING} if NAME=A,B"
            )
    return {
        name.strip(): [_scalar(word.strip()) for word in values.split(",")]
        for name, _, values in pairs
    }


def _epochs(text: str) -> dict[str, int]:
    least, _, most = text.partition(":")
    if not (least.isdecimal() and most.isdecimal()):
        raise UserError(f"--epochs {text}: expected LEAST:MOST, as 2:10")
    return {"least": int(least), "most": int(most)}


def _scalar(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def _is_finite(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)


def _kinds() -> str:
    *others, last = Kind
    return f"{', '.join(others)} or {last}"
