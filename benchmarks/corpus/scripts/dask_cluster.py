"""A Dask cluster of two worker processes on this machine, driven by futures."""

import sys

import dask.array as da
from dask.distributed import Client, LocalCluster


def power(n):
    return n**3


def main(size):
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        print("futures", sum(client.gather(client.map(power, range(size)))))
        print("array", da.ones((size, size), chunks=size // 2).sum().compute())
        print("submitted", client.submit(sum, [1, 2, 3]).result())


if __name__ == "__main__":
    main(int(sys.argv[1]))
