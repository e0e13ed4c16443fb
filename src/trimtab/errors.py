"""The errors that people read: what is wrong, where, and what to do about it."""


class TrimtabError(Exception):
    """Something of ours failed; the command line exits with 1."""

    exit_code = 1


class UserError(TrimtabError):
    """Something that was given is wrong (a path, a command, a YAML key); exits with 2."""

    exit_code = 2
