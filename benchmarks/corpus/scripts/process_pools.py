"""Work spread over processes: a pool, an executor, joblib's workers, and one that is killed."""

import multiprocessing
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import Ridge


def norm(seed):
    return float(np.linalg.norm(np.random.default_rng(seed).random((30, 30)), 2))


def fit(seed):
    random = np.random.default_rng(seed)
    features = random.random((50, 4))
    return float(Ridge().fit(features, features.sum(1)).coef_[0])


def end(_):
    os.kill(os.getpid(), signal.SIGKILL)


def main(count):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print("pool", f"{sum(pool.map(norm, range(count))):.4f}")
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        print("executor", f"{sum(executor.map(norm, range(count))):.4f}")
    print("joblib", f"{sum(Parallel(2)(delayed(fit)(seed) for seed in range(count))):.4f}")
    with ProcessPoolExecutor(1) as executor:
        try:
            executor.submit(end, 0).result()
        except BrokenProcessPool:
            print("a worker was killed")


if __name__ == "__main__":
    main(int(sys.argv[1]))
