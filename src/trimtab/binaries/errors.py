"""What is wrong with a binary file."""

from pathlib import Path

from trimtab.errors import UserError


class ElfError(UserError):
    """A file is not the ELF file that was expected; the message begins with its path."""

    def __init__(self, path: Path, problem: str):
        super().__init__(f"{path}: {problem}")


class UnreadableError(ElfError):
    """A file that may be an ELF file cannot be read, or not any more."""
