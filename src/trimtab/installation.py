"""How trimtab was installed, and the command that adds packages to this installation.

trimtab is in no registry, but the packages of its extras are: the command names these packages.
"""

import os
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from trimtab.places import IS_CHECKOUT, PROJECT

_BY_MAKE = {"spark", "postgresql", "slurm"}  # extras from `make deps-...` in a checkout


def how_to_add(extra: str) -> str:
    """Return the command that adds the packages of an extra to this installation."""
    in_checkout = IS_CHECKOUT and Path(sys.prefix) == PROJECT / ".venv"
    if in_checkout and extra in _BY_MAKE:
        return f"make -C {shlex.quote(str(PROJECT))} deps-{extra}"
    return adding([*packages_of(extra)], Path(sys.prefix))


def how_to_get(target: str, extra: str | None = None) -> str:
    """Return how to get an optional part: by make in a checkout, otherwise as an extra, if it is
    one.
    """
    if IS_CHECKOUT:
        return f"run `make {target}` in {PROJECT}"
    if extra is not None:
        return f"run `{how_to_add(extra)}`"
    return f"get trimtab's source archive and run `make {target}` in it"


def packages_of(extra: str) -> Iterator[str]:
    """Yield the packages of an extra, such as `optuna==5.0.0`, with nested extras."""
    from packaging.requirements import Requirement  # slow; `--help` does not need it

    try:
        required = requires("trimtab") or []
    except PackageNotFoundError:  # it runs from its sources
        return
    for requirement in map(Requirement, required):
        marker = requirement.marker
        if (
            marker is None
            or marker.evaluate({"extra": ""})
            or not marker.evaluate({"extra": extra})
        ):
            continue
        if requirement.name == "trimtab":
            for inner in sorted(requirement.extras):
                yield from packages_of(inner)
        else:
            inside = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            yield f"{requirement.name}{inside}{requirement.specifier}"


def adding(packages: Sequence[str], prefix: Path) -> str:
    """Return the command that adds `packages` to the environment `prefix`, which has trimtab.

    The environment is a tool of uv or pipx, an environment with pip, or one of uv without pip.
    """
    receipt, python = prefix / "uv-receipt.toml", prefix / "bin/python"
    if receipt.is_file() and (kept := _kept_by_uv(receipt)):
        source, others = kept
        options = (f"--with={package}" for package in (*others, *packages))
        return shlex.join(["uv", "tool", "install", *options, source])
    if (prefix / "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "inject", prefix.name, *packages])
    if any(prefix.glob("lib/python3*/site-packages/pip")):
        return shlex.join([str(python), "-m", "pip", "install", *packages])
    return shlex.join(["uv", "pip", "install", f"--python={python}", *packages])


def _kept_by_uv(receipt: Path) -> tuple[str, list[str]] | None:
    """Return uv's source of the tool, and its other packages; None if the source is gone."""
    try:
        given = tomllib.loads(receipt.read_text())["tool"]["requirements"]
        own = next(each for each in given if each["name"] == "trimtab")
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None
    source = own.get("path") or own.get("directory") or own.get("editable")
    if source is None or not os.path.lexists(source):
        return None
    if extras := own.get("extras"):
        source = f"trimtab[{','.join(extras)}] @ {Path(source).as_uri()}"
    return str(source), [_as_given(each) for each in given if each is not own]


def _as_given(requirement: Mapping[str, Any]) -> str:
    place = requirement.get("path") or requirement.get("directory") or requirement.get("url")
    extras = f"[{','.join(requirement['extras'])}]" if requirement.get("extras") else ""
    return str(place or f"{requirement['name']}{extras}{requirement.get('specifier', '')}")
