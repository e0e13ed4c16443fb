"""Search spaces for tests."""

from typing import Any

from hypothesis import strategies as st

from trimtab.config.groups.tuning import Tuning
from trimtab.config.validate import checked

EPOCHS = {"least": 1, "most": 4}


def tuning(**keys: Any) -> Tuning:
    return checked({"epochs": EPOCHS, **keys}, Tuning)


def choices(*values: Any, **keys: Any) -> dict[str, Any]:
    return {"choices": list(values), "default": values[0], **keys}


SMALL = {
    "model": {
        "layers": choices(1, 2, 3),
        "dropout": {"low": 0.0, "high": 0.5, "default": 0.1, "when": {"model.layers": [2, 3]}},
    },
    "training": {
        "batch_size": choices(32, 64, 128),
        "learning_rate": {"low": 1e-3, "high": 0.1, "log": True, "default": 0.01},
    },
    "system": {"cores": {"low": 1, "high": 4, "whole": True, "default": 4}},
    "forbidden": [{"training.batch_size": 128, "system.cores": 1}],
}
COUNTABLE = {
    "model": {
        "layers": choices(1, 2, 3),
        "width": choices("thin", "wide", when={"model.layers": [2, 3]}),
        "skip": choices(False, True, when={"model.width": ["wide"], "model.layers": [3]}),
    },
    "system": {"cores": {"low": 1, "high": 3, "whole": True, "default": 2}},
    "forbidden": [{"model.width": "wide", "system.cores": 1}, {"model.skip": True}],
}


@st.composite
def spaces(draw: st.DrawFn, *, countable: bool = False) -> dict[str, Any]:
    """The keys of a Tuning with conditions and forbidden sets, of which the defaults have none."""
    keys: dict[str, Any] = {"model": {}, "training": {}, "system": {}, "inference": {}}
    names = {"system": ["cores", "gpus"], "inference": ["cores", "batch_size"]}
    earlier: dict[str, dict[str, Any]] = {}  # those that can be compared, by full name
    for kind in keys:
        for name in names.get(kind, [f"{kind}_a", f"{kind}_b"])[: draw(st.integers(0, 2))]:
            parameter = draw(
                _parameters(countable=countable or kind in names, machine=kind in names)
            )
            if earlier and draw(st.booleans()):
                others = draw(st.lists(st.sampled_from(sorted(earlier)), max_size=2, unique=True))
                parameter["when"] = {
                    other: draw(st.lists(values(earlier[other]), min_size=1, max_size=2))
                    for other in others
                }
            keys[kind][name] = parameter
            if "choices" in parameter or parameter.get("whole"):
                earlier[f"{kind}.{name}"] = parameter
    if not any(keys.values()):
        keys["model"]["only"] = draw(_parameters(countable=countable, machine=False))
    forbidden = []
    for _ in range(draw(st.integers(0, 4)) if earlier else 0):
        names_ = draw(
            st.lists(st.sampled_from(sorted(earlier)), min_size=1, max_size=3, unique=True)
        )
        together = {name: draw(values(earlier[name])) for name in names_}
        defaults = tuning(**keys).completed({})
        if any(name not in defaults or defaults[name] != together[name] for name in names_):
            forbidden.append(together)
    return {**keys, "forbidden": forbidden}


@st.composite
def _parameters(draw: st.DrawFn, *, countable: bool, machine: bool) -> dict[str, Any]:
    kind = draw(st.sampled_from(["choices", "whole", *([] if countable else ["real"])]))
    if kind == "choices":
        scalars = st.integers(1, 9) if machine else st.integers(1, 9) | st.text("abc", max_size=3)
        listed = draw(st.lists(scalars, min_size=1, max_size=4, unique=True))
        return {"choices": listed, "default": draw(st.sampled_from(listed))}
    log = draw(st.booleans())
    if kind == "whole":
        low = draw(st.integers(1, 5))
        high = low + draw(st.integers(0, 4))
        default: float = draw(st.integers(low, high))
    else:
        low = draw(st.floats(1e-6, 1e6)) if log else draw(st.floats(-1e6, 1e6))
        high = low + draw(st.floats(0, 1e6))
        default = draw(st.sampled_from([low, high]))
    return {"low": low, "high": high, "log": log, "whole": kind == "whole", "default": default}


def values(parameter: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "choices" in parameter:
        return st.sampled_from(parameter["choices"])
    return st.integers(int(parameter["low"]), int(parameter["high"]))
