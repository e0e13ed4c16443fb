"""Where the verbs of `trimtab` are, so that a command imports its own verb alone."""

from collections.abc import Callable, Collection

from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.overview import ADVANCED, GIVEN_ALWAYS, VERBS, options_of_all


def command_line(only: str | None = None) -> CommandGroup:
    """Return the command line with all verbs, or with one of VERBS or ADVANCED."""
    app = CommandGroup(order=VERBS, **GIVEN_ALWAYS)
    app.callback()(options_of_all)
    for verb, add in _VERBS.items():
        if only in (None, verb):
            add(app)
    if only is None or only == "advanced" or only in ADVANCED:
        advanced = CommandGroup(order=ADVANCED, help=VERBS["advanced"], no_args_is_help=True)
        app.add_typer(advanced, name="advanced")
        for verb, load in _ADVANCED.items():
            if only in (None, "advanced", verb):
                function, common = load()
                advanced.command(common=common)(function)
                # Under its old name until the next version.
                app.command(new_name=f"advanced {verb}", common=common)(function)
    return app


def _debloat(app: CommandGroup) -> None:
    from trimtab.cli.environment.debloat import debloat

    app.command(
        common=(
            "folder", "python", "output", "compare", "ends_with", "drive", "ready", "remove",
            "keep", "fallback",
        )
    )(debloat)  # fmt: skip


def _verify(app: CommandGroup) -> None:
    from trimtab.cli.environment.verify import verify

    app.command()(verify)


def _snapshot(app: CommandGroup) -> None:
    from trimtab.cli.environment.snapshot import snapshot

    app.command()(snapshot)


def _check(app: CommandGroup) -> None:
    from trimtab.cli.results.check import check

    app.command()(check)


def _image(app: CommandGroup) -> None:
    from trimtab.cli.image.command import image

    app.add_typer(image, name="image")


def _cold_store(app: CommandGroup) -> None:
    from trimtab.cli.image.cold_store import cold_store

    app.add_typer(cold_store, name="cold-store")


def _new(app: CommandGroup) -> None:
    from trimtab.cli.project.new import new

    app.command(
        common=(
            "image", "python", "output", "compare", "ends_with", "drive", "ready", "remove",
            "keep", "policy",
        )
    )(new)  # fmt: skip


def _run(app: CommandGroup) -> None:
    from trimtab.cli.project.run import run

    app.command()(run)


def _tune(app: CommandGroup) -> None:
    from trimtab.cli.tuning.command import tune

    app.command(
        common=(
            "parameter", "epochs", "metric", "epoch_mark", "folder", "tuner", "objective",
            "trials", "time", "deploy",
        )
    )(tune)  # fmt: skip


def _schedule(app: CommandGroup) -> None:
    from trimtab.cli.single_steps import simulate_queue  # noqa: F401 (adds a verb)
    from trimtab.cli.single_steps.schedule import schedule

    app.add_typer(schedule, name="schedule")


def _worth(app: CommandGroup) -> None:
    from trimtab.cli.single_steps.worth import worth

    app.command(
        common=(
            "jobs", "images", "job_images", "nodes", "policy", "output", "slim_share", "price",
            "carbon", "autoscale", "egress_price",
        )
    )(worth)  # fmt: skip


def _imports(app: CommandGroup) -> None:
    from trimtab.cli.imports import imports

    app.command()(imports)


def _doctor(app: CommandGroup) -> None:
    from trimtab.cli.doctor import doctor

    app.command()(doctor)


_VERBS: dict[str, Callable[[CommandGroup], None]] = {
    "debloat": _debloat,
    "verify": _verify,
    "snapshot": _snapshot,
    "check": _check,
    "image": _image,
    "cold-store": _cold_store,
    "new": _new,
    "run": _run,
    "tune": _tune,
    "schedule": _schedule,
    "worth": _worth,
    "imports": _imports,
    "doctor": _doctor,
}

_Step = tuple[Callable[..., None], Collection[str] | None]  # a verb, and the options its help shows


def _learn() -> _Step:
    from trimtab.cli.environment.learn import learn

    return learn, None


def _compare() -> _Step:
    from trimtab.cli.results.compare import compare

    return compare, None


def _trace() -> _Step:
    from trimtab.cli.single_steps.trace import trace

    return trace, (
        *("folder", "python", "output", "compare", "ends_with", "drive", "ready", "runs"),
    )


def _locate() -> _Step:
    from trimtab.cli.single_steps.spans import locate

    return locate, None


def _reconstruct() -> _Step:
    from trimtab.cli.single_steps.spans import reconstruct

    return reconstruct, None


def _probe() -> _Step:
    from trimtab.cli.single_steps.schedule import probe

    return probe, None


_ADVANCED: dict[str, Callable[[], _Step]] = {
    "learn": _learn,
    "compare": _compare,
    "trace": _trace,
    "locate": _locate,
    "reconstruct": _reconstruct,
    "probe": _probe,
}
