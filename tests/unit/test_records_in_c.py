"""The simulators in C and their callers have the same records, in the same order."""

from types import ModuleType

import numpy as np
import pytest

from trimtab.batch.kernel import layout as batch_layout
from trimtab.batch.kernel import library as batch
from trimtab.policies import layout as cluster_layout
from trimtab.simulation.kernel import library as cluster


@pytest.mark.parametrize(
    ("library", "layout"), [(batch, batch_layout), (cluster, cluster_layout)], ids=lambda each: ""
)
def test_records_have_the_same_fields_in_c(library: ModuleType, layout: ModuleType) -> None:
    records = library.records()
    defined = {name for name, each in vars(layout).items() if isinstance(each, np.dtype)}
    assert records.keys() == defined
    for name, fields in records.items():
        record: np.dtype[np.void] = getattr(layout, name)
        assert record.names is not None
        ours = [f"{record[field].str[1:]}:{field}" for field in record.names]
        assert fields == ours, name
        assert record.itemsize == 8 * len(ours)


@pytest.mark.parametrize(
    ("header", "library", "tag"),
    [("batch_queues/state.h", batch._State, "state"),
     ("cluster_simulator/system.h", cluster._System, "system")],
)  # fmt: skip
def test_arrays_stand_in_the_same_order_in_c(header: str, library: type, tag: str) -> None:
    """A pointer in the place of another would be read as that."""
    from trimtab.places import PROJECT

    text = (PROJECT / "native" / header).read_text()
    body = text.partition(f"struct {tag} {{")[2].partition("};")[0]
    lines = [line.partition("//")[0].strip() for line in body.splitlines()]
    declared = " ".join(lines).replace(" const ", " ").split(";")
    names = [
        name.strip(" *").split()[-1].strip("*")
        for each in declared if each.strip()
        for name in each.split(",")
    ]  # fmt: skip
    assert names == [name for name, _ in library._fields_]  # type: ignore[attr-defined]
