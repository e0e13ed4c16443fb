"""Names of GPU models, as schedulers write them, as the words that name node types."""

import re

import pandas as pd

# NVIDIA's data-centre models, AMD's Instinct, and workstation cards.
_MODEL = re.compile(
    r"(?:^|[^a-z0-9])((?:rtx|gtx|quadro)[-_ ]?)?"
    r"(a?[0-9]{4}(?:ti)?|(?:gb|gh|mi|[abhlptvk])[0-9]{1,4}[a-z]?)"
    r"(?:m[0-9]+)?(?=$|[^a-z0-9])"
)
_SLICE = re.compile(r"(?:^|[^0-9a-z])([1-9])g\.[0-9]{1,4}gb(?:\+me)?")
_SLICES = 7  # of a GPU


def gpu_model(text: str) -> str:
    """Return the model in lower case: `a100` of `NVIDIA-A100-SXM4-80GB`; `v100` of `V100M32`.

    A name without a known model stays, except a slice of a GPU. Several models, separated by |,
    are any: the name is empty.
    """
    models = {_model(_SLICE.sub("", each)) for each in text.lower().split("|")}
    return models.pop() if len(models) == 1 else ""


def _model(text: str) -> str:
    match = _MODEL.search(text)
    if match is None:
        return text.strip()
    return ("rtx" if (match[1] or "").startswith("rtx") else "") + match[2]


def gpu_models(texts: "pd.Series[str]") -> "pd.Series[str]":
    """Return `gpu_model` of each text; nothing for a missing one."""
    codes, known = pd.factorize(texts.fillna(""))
    models = pd.Series([gpu_model(text) for text in known], dtype=str)
    return models.take(codes).set_axis(texts.index)


def slice_share(text: str) -> float | None:
    """Return the share of a GPU of an MIG slice such as `1g.5gb`; None if it is none.

    A GPU has seven slices (NVIDIA's Multi-Instance GPU User Guide).
    """
    match = _SLICE.search(text.lower())
    return None if match is None else int(match[1]) / _SLICES
