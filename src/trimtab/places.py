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
