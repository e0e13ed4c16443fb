"""The table of `trimtab worth`: each figure of each replication."""

import pyarrow as pa

# One row a replication (0: the recorded queue), setting and figure.
REPLICATIONS = pa.schema(
    [
        ("replication", pa.int64()),
        ("setting", pa.string()),
        ("figure", pa.string()),
        ("value", pa.float64()),
    ]
)
