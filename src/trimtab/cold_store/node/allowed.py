"""Which index a container names, and which it may name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = rf"{_PART}(?:/{_PART})*"
_LINE = re.compile(rf"({_HOST})/({_REPOSITORY})@(sha256:[0-9a-f]{{64}})")
_RULE = re.compile(rf"({_HOST})(?:/({_REPOSITORY})?)?/?")
_MOST_CHARACTERS = 1000


@dataclass(frozen=True)
class IndexName:
    """An index in a registry, as /trimtab/registry of a slim image has it."""

    host: str
    repository: str
    digest: str

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the index that a line names. Raises ValueError for anything else."""
        match = _LINE.fullmatch(line) if len(line) <= _MOST_CHARACTERS else None
        if match is None:
            raise ValueError("no index; expected HOST[:PORT]/REPOSITORY@sha256:DIGEST")
        return cls(*match.groups())

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}@{self.digest}"


class Allowed:
    """The repositories that containers may name: by host, and the first parts of their names."""

    def __init__(self, rules: Iterable[str]):
        """Take rules of the form HOST[:PORT]/PREFIX. Raises ValueError for another form."""
        self._rules: list[tuple[str, str]] = []
        for rule in rules:
            match = _RULE.fullmatch(rule) if len(rule) <= _MOST_CHARACTERS else None
            if match is None:
                raise ValueError(f"{rule[:200]}: expected HOST[:PORT]/PREFIX, as in r.org/team")
            self._rules.append((match[1], match[2] or ""))

    def __contains__(self, index: IndexName) -> bool:
        return any(
            index.host == host and (not prefix or f"{index.repository}/".startswith(f"{prefix}/"))
            for host, prefix in self._rules
        )
