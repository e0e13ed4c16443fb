"""`used.json`: which functions and kernels of each library the workloads of a target used."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files import read_json


@dataclass(frozen=True)
class UsedCode:
    """The code of one library that ran: start addresses of functions, mangled names of kernels."""

    functions: frozenset[int]
    kernels: frozenset[str]


def read_used(path: Path) -> Mapping[str, UsedCode]:
    """Return the used code by library, as LIBRARIES names it; of an absent one it is not known.

    Raises TrimtabError when the file is not
    {"libraries": {name: {"functions": [address, ...], "kernels": [name, ...]}}}.
    """
    try:
        libraries = read_json(path)["libraries"]
        used = {
            name: UsedCode(frozenset(code["functions"]), frozenset(code["kernels"]))
            for name, code in libraries.items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TrimtabError(f"{path}: not a record of used code ({error}); debloat again") from None
    for name, code in used.items():
        if any(type(address) is not int for address in code.functions):
            raise TrimtabError(f"{path}: {name}: functions are start addresses, as numbers")
        if any(not isinstance(kernel, str) for kernel in code.kernels):
            raise TrimtabError(f"{path}: {name}: kernels are mangled names, as text")
    return used


def jaccard(first: Set[object], second: Set[object]) -> float | None:
    """Return |A ∩ B| / |A ∪ B| (Equation 1 of the paper); None where both are empty."""
    union = len(first | second)
    return len(first & second) / union if union else None
