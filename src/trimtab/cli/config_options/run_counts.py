"""Options of verbs for how often programs are run."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.cli.config_options.group import OptionGroup
from trimtab.config.fields import CHECKED, MistakeError
from trimtab.config.root import Profiling, Settle, Verify
from trimtab.config.validate import checked


@dataclass(config=CHECKED)
class RunCounts:
    """The parts of the configuration with numbers of runs."""

    profiling: Profiling = field(default_factory=Profiling)
    settle: Settle = field(default_factory=Settle)
    verify: Verify = field(default_factory=Verify)


def _filled(given: dict[str, Any], _: Mapping[str, Any]) -> RunCounts:
    try:
        return checked(RUN_COUNTS.nested(given), RunCounts)
    except MistakeError as error:
        raise RUN_COUNTS.mistake(error) from None


_TRACED, _SETTLED, _VERIFIED = "profiling.traced_runs", "settle.clean_runs", "verify.repeats"
RUN_COUNTS = OptionGroup(RunCounts, (_TRACED, _SETTLED, _VERIFIED), _filled)
OF_DEBLOAT = RUN_COUNTS.only(_TRACED, _SETTLED)
OF_TRACE = RUN_COUNTS.only(_TRACED, defaults={_TRACED: 3})
OF_VERIFY = RUN_COUNTS.only(_VERIFIED)
