"""Errors of binary files."""

from pathlib import Path

from trimtab.errors import UserError


class ElfError(UserError):
    """A file is not the expected ELF file; the message begins with its path."""

    def __init__(self, path: Path, problem: str):
        super().__init__(f"{path}: {problem}")


class UnreadableError(ElfError):
    """A possible ELF file cannot be read, or not any more."""
