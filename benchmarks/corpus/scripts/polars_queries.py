"""Eager and lazy queries of Polars, with text, dates and files."""

import io
import sys

import polars as pl

rows = int(sys.argv[1])
table = pl.DataFrame(
    {
        "id": range(rows),
        "shop": [("north", "south", "east")[n * 7 % 3] for n in range(rows)],
        "price": [(n * 37 % 101) / 7 for n in range(rows)],
        "name": [f"item {n % 11:02}" for n in range(rows)],
    }
).with_columns(day=pl.date(2024, 1, 1) + pl.duration(days=pl.col("id") % 300))
print(table.group_by("shop").agg(pl.col("price").mean().round(3), pl.len()).sort("shop"))
query = (
    table.lazy()
    .filter(pl.col("price") > 3)
    .with_columns(rank=pl.col("price").rank().over("shop"), word=pl.col("name").str.to_uppercase())
    .group_by(pl.col("day").dt.month(), "word")
    .agg(pl.col("rank").max(), pl.col("price").quantile(0.9).round(3))
    .sort("day", "word")
)
print(query.collect().head(6))
other = pl.DataFrame({"name": [f"item {n:02}" for n in range(9)], "weight": range(9)})
print(table.join(other, on="name", how="left")["weight"].null_count())
print(
    table.pivot(on="shop", index="name", values="price", aggregate_function="sum")
    .sort("name")
    .head(3)
)
print(
    table.group_by_dynamic("day", every="1mo").agg(pl.len()).head(2)
    if table["day"].is_sorted()
    else "unsorted"
)
for write, read in (
    (pl.DataFrame.write_csv, pl.read_csv),
    (pl.DataFrame.write_parquet, pl.read_parquet),
):
    file = io.BytesIO()
    write(table, file)
    file.seek(0)
    print(read(file).shape)
print(
    pl.SQLContext(t=table)
    .execute("SELECT shop, count(*) n FROM t GROUP BY shop ORDER BY shop")
    .collect()
)
