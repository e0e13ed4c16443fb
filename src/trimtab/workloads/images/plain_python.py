"""A program that uses only Python's standard library."""

import csv
import hashlib
import io
import json
import random
import re
import sqlite3
import statistics
import sys
from collections import Counter


def main(rows: int) -> None:
    """Draw a table, put it in a database, and print statistics of it."""
    draw = random.Random(0)
    text = "name,value\n" + "".join(f"n{draw.randrange(20)},{draw.random()}\n" for _ in range(rows))
    table = [(row["name"], float(row["value"])) for row in csv.DictReader(io.StringIO(text))]
    with sqlite3.connect(":memory:") as database:
        database.execute("create table drawn (name text, value real)")
        database.executemany("insert into drawn values (?, ?)", table)
        [[largest]] = database.execute("select max(value) from drawn").fetchall()
    found = {
        "largest": largest,
        "mean": statistics.fmean(value for _, value in table),
        "names": Counter(name for name, _ in table).most_common(3),
        "zeros": len(re.findall(r"\.0", text)),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
