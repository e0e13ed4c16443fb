"""Arrays, tables and delayed calls of Dask in threads and in processes."""

import sys

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd


@dask.delayed
def square(n):
    return n * n


def main(size):
    array = da.from_array(np.random.default_rng(size).random((size, size)), chunks=size // 4)
    print("mean", f"{array.mean().compute():.6f}", f"{(array @ array.T).trace().compute():.4f}")
    print("svd", da.linalg.svd(array.rechunk((size // 4, size)))[1].compute()[:3].round(3).tolist())
    frame = pd.DataFrame({"shop": ["a", "b", "c"] * size, "price": np.arange(3 * size) % 17})
    table = dd.from_pandas(frame, npartitions=4)
    print(table.groupby("shop")["price"].agg(["mean", "max"]).compute().round(3).sort_index())
    print("delayed", dask.compute(sum(square(n) for n in range(10)))[0])
    words = db.from_sequence(["a few words", "and a few more"], npartitions=2)
    print("words", sorted(words.str.split().flatten().frequencies().compute(scheduler="processes")))


if __name__ == "__main__":
    main(int(sys.argv[1]))
