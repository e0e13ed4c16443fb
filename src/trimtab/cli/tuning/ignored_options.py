"""Options that a program may ignore, as it takes any: by `parse_known_args` of argparse."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.config.validate import nearest
from trimtab.errors import TrimtabError
from trimtab.files import read_limited
from trimtab.tuning.plan import options_of

_TAKES_ANY = "parse_known_args"
_OPTION = re.compile(r"--[a-z][\w-]*")
_MOST_BYTES = 1 << 22  # of a script


def ignored_options(workload: Workload) -> Iterator[str]:
    """Yield a warning for each tuned option that no script of the workload's folder names.

    Only a script that takes options that it does not know is looked at: others refuse them, which
    ends a search (`trimtab.tuning.search.program_faults`).
    """
    names = [] if workload.tuning is None else options_of(workload.command, workload.tuning)
    for word in workload.command:
        script = Path(workload.workdir, word)
        if script.suffix != ".py" or not script.is_file():
            continue
        text = _text(script)
        if _TAKES_ANY not in text:
            continue
        texts = "\n".join(_text(path) for path in sorted(script.parent.glob("*.py")))
        known = set(_OPTION.findall(text))
        for name in names:
            option = f"--{name.replace('_', '-')}"
            spelt = name.replace("_", "[_-]")
            if not re.search(rf"(?<!\w)(?<!\w-){spelt}(?!-?\w)", texts):
                yield (
                    f"{word} ignores options that it does not know ({_TAKES_ANY}), and no script"
                    f" beside it names {option}; {nearest(option, known)}a search of an ignored"
                    " option finds nothing"
                )


def _text(path: Path) -> str:
    with suppress(OSError, TrimtabError):  # none that can be read, or too large
        return read_limited(path, _MOST_BYTES).decode(errors="replace")
    return ""
