"""The places of trimtab's own parts: in a checkout, or beside its installed modules."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
MODULES = _PACKAGE.parent
PROJECT = MODULES.parent
IS_CHECKOUT = (PROJECT / "native" / "Makefile").is_file() and (PROJECT / "Snakefile").is_file()

# The folder of `Snakefile`, `rules`, `scripts` and `conf`.
PARTS = PROJECT if IS_CHECKOUT else _PACKAGE / "parts"
CONF = PARTS / "conf"
SNAKEFILE = PARTS / "Snakefile"
# Built by `make native`, or part of the wheel.
NATIVE = PROJECT / "build" / "native" if IS_CHECKOUT else PARTS / "native"
# Fetched by `make deps-...`, in a checkout.
OPTIONAL_PARTS = PROJECT / "build"
