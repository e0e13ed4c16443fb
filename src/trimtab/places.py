"""Where trimtab's own parts lie: in a checkout, or beside its modules where it was installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
MODULES = _PACKAGE.parent
PROJECT = MODULES.parent
IS_CHECKOUT = (PROJECT / "native" / "Makefile").is_file() and (PROJECT / "Snakefile").is_file()

# The folder of `Snakefile`, `rules`, `scripts` and `conf`.
PARTS = PROJECT if IS_CHECKOUT else _PACKAGE / "parts"
CONF = PARTS / "conf"
SNAKEFILE = PARTS / "Snakefile"
# What `make native` builds, and the wheel brings built.
NATIVE = PROJECT / "build" / "native" if IS_CHECKOUT else PARTS / "native"
# What `make deps-...` gets, in a checkout.
OPTIONAL_PARTS = PROJECT / "build"


def how_to_get(target: str, extra: str | None = None) -> str:
    """Return how to get an optional part: by make in a checkout, else by pip, where it has it."""
    if IS_CHECKOUT:
        return f"run `make {target}` in {PROJECT}"
    if extra is not None:
        return f"run `pip install 'trimtab[{extra}]'`"
    return f"get trimtab's source archive and run `make {target}` in it"
