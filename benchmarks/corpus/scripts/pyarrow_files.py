"""Arrays, computations, tables, files and datasets of Arrow."""

import io
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

rows = int(sys.argv[1])
random = np.random.default_rng(rows)
table = pa.table(
    {
        "id": np.arange(rows),
        "shop": pa.array(random.choice(["north", "south", None], rows)).dictionary_encode(),
        "price": random.gamma(2, 3, rows),
        "tags": [[f"t{n % 3}"] * (n % 4) for n in range(rows)],
    }
)
print(table.schema)
print(
    table.group_by("shop")
    .aggregate([("price", "mean"), ("id", "count")])
    .sort_by("price_mean")
    .select(["id_count"])
    .to_pylist()
)
print(pc.utf8_upper(pc.cast(table["shop"], pa.string())).value_counts().to_pylist())
print(table.filter(pc.greater(table["price"], 6)).num_rows, pc.list_flatten(table["tags"]).unique())
print(pc.quantile(table["price"], [0.1, 0.9]).to_numpy().round(3).tolist())
with tempfile.TemporaryDirectory() as folder:
    for compression in ("snappy", "zstd", "gzip"):
        pa.parquet.write_table(table, f"{folder}/{compression}.parquet", compression=compression)
        print(compression, pa.parquet.read_table(f"{folder}/{compression}.parquet").equals(table))
    files = pa.dataset.dataset(folder, format="parquet")
    print(files.to_table(filter=pc.field("id") < 5, columns=["id"]).num_rows)
    pa.feather.write_feather(table, f"{folder}/t.feather")
    print(pa.feather.read_table(f"{folder}/t.feather").num_columns)
file = io.BytesIO()
pa.csv.write_csv(table.drop_columns(["tags", "shop"]), file)
print(pa.csv.read_csv(io.BytesIO(file.getvalue())).shape)
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table, 100)
print(pa.ipc.open_stream(sink.getvalue()).read_all().to_pandas().describe().round(3).to_string())
