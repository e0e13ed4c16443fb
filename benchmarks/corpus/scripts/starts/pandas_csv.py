"""A table that comes as text, and the mean of each group."""

import io

import pandas as pd

text = "species,length,width\n" + "".join(
    f"{'abc'[n % 3]},{n % 7 + 1.5},{n % 5 + 0.5}\n" for n in range(300)
)
table = pd.read_csv(io.StringIO(text))
print(table.groupby("species").mean().round(3))
