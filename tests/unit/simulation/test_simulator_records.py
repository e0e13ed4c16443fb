"""The simulator in C and its caller have the same records."""

import numpy as np

from trimtab.policies import layout
from trimtab.simulation.kernel import library


def test_records_have_the_same_fields_in_c():
    for name, fields in library.records().items():
        record: np.dtype[np.void] = getattr(layout, name)
        assert record.names is not None
        ours = [f"{record[field].str[1:]}:{field}" for field in record.names]
        assert fields == ours, name
        assert record.itemsize == 8 * len(ours)
