"""Idle nodes that sleep, or that are switched off until jobs need them."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError

_EXPECTED = "expected BOOT_S:IDLE_S in seconds, such as 90:300, or TYPE=BOOT_S:IDLE_S,..."


class Sleep(NamedTuple):
    """Idle nodes sleep after `after_s`, draw a share of their idle power, and wake in `wake_s`.

    `off`: they are switched off instead, and lose their images. They begin so, or with `begins_on`
    they are on in the beginning.
    """

    after_s: float
    wake_s: float = 120.0
    power_share: float = 0.05
    off: bool = False
    begins_on: bool = False


def sleeps_of(
    cluster: Cluster, sleep: Sleep | None, autoscale: Mapping[str, Sleep]
) -> tuple[Sleep | None, ...]:
    """Return how the nodes of each type sleep: as `autoscale` says by name, else as `sleep`."""
    return tuple(autoscale.get(each.name, sleep) for each in cluster.node_types)


def parse_autoscale(text: str, cluster: Cluster) -> dict[str, Sleep]:
    """Return how node types are switched on and off: `BOOT_S:IDLE_S` is of all, else by name.

    Raises UserError with the part that is wrong.
    """
    if "=" not in text:
        return {each.name: _switched(text) for each in cluster.node_types}
    return {name: _switched(value) for name, value in by_node_type("--autoscale", text, cluster)}


def parse_node_prices(text: str, cluster: Cluster) -> dict[str, float]:
    """Return EUR per hour of a node by the name of its type: `TYPE=EUR_PER_HOUR,...` of all types.

    Raises UserError with the part that is wrong, or the types that are missing.
    """
    prices = {}
    for name, value in by_node_type("--node-price", text, cluster):
        if not re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
            raise UserError(f"--node-price: {value!r} given, expected EUR per hour, such as 1.5")
        prices[name] = float(value)
    missing = [each.name for each in cluster.node_types if each.name not in prices]
    if missing:
        expected = ",".join(f"{name}=0" for name in missing)
        raise UserError(f"--node-price: no price of {', '.join(missing)}; expected also {expected}")
    return prices


def by_node_type(option: str, text: str, cluster: Cluster) -> list[tuple[str, str]]:
    """Return the names of node types and their values from `TYPE=VALUE,...`.

    Raises UserError for a type that the nodes do not have, or that occurs twice.
    """
    names = [each.name for each in cluster.node_types]
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in names or name in found:
            raise UserError(
                f"{option}: {part.strip()!r} given, expected TYPE=VALUE once for a type of --nodes:"
                f" {', '.join(names)}"
            )
        found[name] = value
    return list(found.items())


def _switched(text: str) -> Sleep:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{0,9})?):(\d{1,9}(?:\.\d{0,9})?)", text.strip())
    if match is None:
        raise UserError(f"--autoscale: {text!r} given, {_EXPECTED}")
    return Sleep(float(match[2]), float(match[1]), power_share=0.0, off=True)
