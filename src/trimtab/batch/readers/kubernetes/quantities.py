"""Kubernetes' quantities: `500m`, `2`, `1.5Gi`, `1e3`.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from typing import Any

_QUANTITY = re.compile(r"([+-]?[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(\w?i?|[eE][+-]?[0-9]{1,2})")
_FACTORS = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
    "Ei": 2.0**60,
}  # fmt: skip


def quantity(value: Any) -> float:
    """Return a quantity as a number; raises ValueError for other values."""
    match = _QUANTITY.fullmatch(str(value))
    if match is not None and match[2] in _FACTORS:
        return float(match[1]) * _FACTORS[match[2]]
    if match is not None and match[2][:1] in ("e", "E") and match[2][1:]:
        return float(match[0])
    raise ValueError(f"quantity {str(value)[:60]!r}, expected such as 500m or 4Gi")
