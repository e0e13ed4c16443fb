"""Joins, groups, windows, pivots, dates and text of tables."""

import io
import sys

import numpy as np
import pandas as pd

rows = int(sys.argv[1])
random = np.random.default_rng(rows)
sales = pd.DataFrame(
    {
        "day": pd.date_range("2024-01-01", periods=rows, freq="h"),
        "shop": random.choice(["north", "south", "east"], rows),
        "item": random.integers(0, 12, rows),
        "price": random.gamma(2, 3, rows).round(2),
    }
)
sales.loc[::7, "price"] = np.nan
items = pd.DataFrame({"item": range(12), "name": [f"item {n:02}" for n in range(12)]})

joined = sales.merge(items, on="item", how="left")
print(joined.groupby(["shop", "name"])["price"].agg(["mean", "count", "max"]).round(3).head(8))
print(joined.pivot_table(index="shop", columns="item", values="price", aggfunc="sum").round(2))
weekly = sales.set_index("day")["price"].resample("W").sum()
print(weekly.rolling(3, min_periods=1).mean().round(2).tail(4).to_string())
print(joined["name"].str.upper().str.extract(r"(\d+)")[0].astype(int).value_counts().head(3))
text = joined.head(20).to_csv(index=False)
print(pd.read_csv(io.StringIO(text), parse_dates=["day"]).dtypes.to_string())
print(joined["price"].fillna(joined["price"].median()).describe().round(3).to_string())
print(joined.sort_values(["shop", "price"]).drop_duplicates("shop")[["shop", "item"]].to_string())
print(joined.head(3).to_json(orient="records", date_format="iso"))
