"""Bytes that nodes pull where images share layers: a node has each layer once."""

import numpy as np
import pandas as pd

from trimtab.worth.stages import Plan, Stage


def pulled_layer_bytes(
    jobs: pd.DataFrame, allocations: pd.DataFrame, plan: Plan, stages: tuple[Stage, ...]
) -> float:
    """Return the bytes of layers that all nodes pull, which keep them: in any order of the pulls.

    `allocations` are a BatchResult's, of jobs (BATCH_JOBS). An image without layers is one layer.
    """
    names = pd.Index(list(plan.images))
    image_of_job = names.get_indexer(pd.Index(jobs["image"]))
    image, node = image_of_job[allocations["job"]], allocations["node"].to_numpy(np.int64)
    has_image = image >= 0
    on_node = np.zeros((int(node.max(initial=0)) + 1, len(names)), bool)
    on_node[node[has_image], image[has_image]] = True
    layers = {name: _layers(name, plan, stages) for name in names}
    sizes: dict[str, float] = {}
    for of_image in layers.values():
        sizes.update(of_image)
    digests = pd.Index(list(sizes))
    in_image = np.zeros((len(names), len(digests)), bool)
    for number, of_image in enumerate(layers.values()):
        in_image[number, digests.get_indexer(pd.Index(list(of_image)))] = True
    pulled = on_node.astype(np.float32) @ in_image.astype(np.float32) > 0
    return float((pulled @ np.array(list(sizes.values()))).sum())


def _layers(name: str, plan: Plan, stages: tuple[Stage, ...]) -> dict[str, float]:
    side = plan.side(name, stages)
    return {f"image {name}": side.size_bytes or 0.0} if side.layers is None else dict(side.layers)
