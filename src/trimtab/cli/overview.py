"""The output of `trimtab` without a verb: the verbs and the version, without importing them."""

from typing import Annotated, Any

import typer

from trimtab.cli.output.command_group import CommandGroup

# In the help's order: the first paragraph of each verb's own help, and each group's help.
VERBS = {
    "debloat": "Trace COMMAND, then make its slim environment: WORKSPACE/env/bin/python runs it.",
    "verify": "Run the debloated program again in both environments and compare what it does.",
    "snapshot": "Save the debloated program after its imports; later starts go on from there.",
    "check": "Report the size of slim environments; exit with code 3 if one is over budget.",
    "image": "Container images: make them slim, compare two, have several share a layer, or"
    " partition one.",
    "cold-store": "The server on a node that brings what slim images miss from their registry.",
    "new": "Make a project of your own, which debloats COMMAND and reports on it, in FOLDER.",
    "run": "Run the experiment of this folder: the stages that are out of date.",
    "tune": "Search a program's best parameters: it is trained again and again, as trials.",
    "schedule": "Queues: a batch system's jobs under several policies, or real jobs.",
    "worth": "Replay JOBS with slim images: what they save, how sure that is, and which to make"
    " first.",
    "imports": "Run a Python program once, and tell what its imports cost and which of them nothing"
    " used.",
    "doctor": "List missing parts of this machine, their consequences, and how to install them.",
    "advanced": "Single steps: learn, compare, trace, locate, reconstruct, probe.",
}
# Their old names lack `advanced`.
ADVANCED = ("learn", "compare", "trace", "locate", "reconstruct", "probe")
GIVEN_ALWAYS: dict[str, Any] = {
    "help": "One step at a time, on a command of your own, without a YAML; or a project of them.",
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # not for help

        print(f"trimtab {version('trimtab')}")
        raise typer.Exit


def options_of_all(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that come before a verb."""


def overview() -> typer.Typer:
    """Return the command line with its verbs' names, and the first lines of their help."""
    app = CommandGroup(
        order=VERBS, **GIVEN_ALWAYS, rich_markup_mode=None
    )  # rich's help takes as long as all else
    app.callback()(options_of_all)
    for name, said in VERBS.items():
        app.command(name, help=said, short_help=said)(lambda: None)
    return app
