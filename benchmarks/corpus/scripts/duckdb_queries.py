"""SQL of DuckDB over tables, DataFrames, Parquet and JSON."""

import sys
import tempfile
from pathlib import Path

import duckdb
import pandas as pd

QUERIES = """
SELECT shop, round(avg(price), 3), count(*), median(id) FROM sales GROUP BY shop ORDER BY shop;
SELECT month(day) m, sum(id) FROM sales WHERE price BETWEEN 2 AND 9 GROUP BY m ORDER BY m LIMIT 4;
SELECT id, row_number() OVER (PARTITION BY shop ORDER BY price, id)
    FROM sales ORDER BY id LIMIT 3;
SELECT a.shop, count(*) FROM sales a JOIN sales b ON a.id = b.id + 1 GROUP BY 1 ORDER BY 1;
SELECT regexp_replace(shop, '[aeiou]', '*', 'g') w, any_value(length(shop))
    FROM sales GROUP BY w ORDER BY w;
WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 90)
    SELECT max(b) FROM f;
SELECT json_extract('{"a": [1, {"b": 3}]}', '$.a[1].b'), list_sort([3, 1, 2]);
PIVOT sales ON shop USING sum(id) GROUP BY day ORDER BY ALL LIMIT 2
"""
rows = int(sys.argv[1])
database = duckdb.connect()
database.execute(f"""
    CREATE TABLE sales AS SELECT range AS id, ['north','south','east'][range * 7 % 3 + 1] AS shop,
    (range * 37 % 101) / 7.0 AS price, DATE '2024-01-01' + CAST(range % 300 AS INTEGER) AS day
    FROM range({rows})""")
for query in QUERIES.split(";"):
    print(database.execute(query).fetchall())
frame = pd.DataFrame({"shop": ["north", "south"], "city": ["Oslo", "Rome"]})
print(
    database.execute(
        "SELECT city, count(*) FROM sales JOIN frame USING (shop) GROUP BY 1 ORDER BY 1"
    ).df()
)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "sales.parquet")
    database.execute(f"COPY sales TO '{file}' (FORMAT parquet)")
    print(database.execute(f"SELECT count(*), max(price) FROM '{file}'").fetchall())
print(database.sql("SELECT * FROM sales USING SAMPLE reservoir(3 ROWS) REPEATABLE (1)").shape)
