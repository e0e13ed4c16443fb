"""k-means (Lloyd's algorithm) on digits with CuPy: an own kernel, cuBLAS and CuPy's kernels."""

import argparse
from typing import Any

import numpy as np

from trimtab.workloads.common import command
from trimtab.workloads.data import InputError, digits

# Compiled at run time, by NVRTC. The sum's order is fixed, so runs are bit-identical.
NEAREST = r"""
extern "C" __global__ void nearest(
    const float *samples, const float *centres, int count, int clusters, int features,
    int *cluster, float *squared_distance)
{
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample >= count)
        return;
    int best = 0;
    float least = 0.0f;
    for (int candidate = 0; candidate < clusters; candidate++) {
        float distance = 0.0f;
        for (int feature = 0; feature < features; feature++) {
            float difference =
                samples[sample * features + feature] - centres[candidate * features + feature];
            distance += difference * difference;
        }
        if (candidate == 0 || distance < least) {
            least = distance;
            best = candidate;
        }
    }
    cluster[sample] = best;
    squared_distance[sample] = least;
}
"""
_BLOCK = 128


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Cluster the training digits; return the metrics with each iteration's inertia."""
    import cupy  # type: ignore[import-not-found]

    try:
        properties = cupy.cuda.runtime.getDeviceProperties(0)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InputError(f"CuPy {cupy.__version__} finds no GPU: {error}") from None
    images = digits.load()
    host = images.train.inputs.reshape(len(images.train.labels), -1).astype(np.float32) / 255
    inertia, clusters = cluster(cupy, host, arguments)
    return {
        "data": {"name": images.name, "source": images.source},
        "device": properties["name"].decode(),
        "cupy": cupy.__version__,
        "inertia": inertia,
        "purity": purity(clusters, images.train.labels),
    }


def cluster(cupy: Any, host: Any, arguments: argparse.Namespace) -> tuple[list[float], Any]:
    """Return the inertia of every iteration, and the cluster of every sample, int32 [samples].

    `host` holds the samples, float32 [samples, features]; the first centres are among them.
    """
    chosen = np.random.default_rng(arguments.seed).choice(
        len(host), arguments.clusters, replace=False
    )
    samples, centres = cupy.asarray(host), cupy.asarray(host[chosen])
    nearest = cupy.RawKernel(NEAREST, "nearest")
    clusters = cupy.empty(len(host), dtype=cupy.int32)
    distances = cupy.empty(len(host), dtype=cupy.float32)
    blocks = -(-len(host) // _BLOCK)
    sizes = (np.int32(len(host)), np.int32(arguments.clusters), np.int32(host.shape[1]))
    inertia = []
    for iteration in range(arguments.iterations):
        nearest((blocks,), (_BLOCK,), (samples, centres, *sizes, clusters, distances))
        inertia.append(float(distances.sum()))
        members = (clusters == cupy.arange(arguments.clusters)[:, None]).astype(cupy.float32)
        counts = members.sum(axis=1, keepdims=True)
        # An empty cluster keeps its centre.
        centres = cupy.where(counts > 0, members @ samples / cupy.maximum(counts, 1), centres)
        if iteration == 0:
            command.mark_first_iteration()
    return inertia, cupy.asnumpy(clusters)


def purity(clusters: Any, labels: Any) -> float:
    """Return the share of samples with the most frequent label of their cluster."""
    most = [np.bincount(labels[clusters == each]).max() for each in np.unique(clusters)]
    return float(sum(most) / len(labels))


if __name__ == "__main__":
    options = command.parser("k-means on scikit-learn's digits with CuPy.", devices=())
    options.add_argument("--clusters", type=command.positive, default=10)
    options.add_argument("--iterations", type=command.positive, default=200)
    command.main(options, run)
