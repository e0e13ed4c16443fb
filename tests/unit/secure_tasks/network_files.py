"""Networks for the tests of native programs: of random weights, written as workloads write them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import load_file, save_file

from trimtab.workloads import lenet5
from trimtab.workloads.common import network_file
from trimtab.workloads.detection import detector, net

Tensors = dict[str, npt.NDArray[np.float32]]


def lenet_file(path: Path, images: int = 5) -> Path:
    torch.manual_seed(1)
    model = lenet5.build()
    pixels = torch.rand(images, 1, 28, 28) * 2 - 1
    network_file.save(path, "lenet 1", model, pixels, network_file.outputs(model, pixels))
    return path


def detector_file(path: Path, side: int = 48, images: int = 2, seed: int = 1) -> Path:
    """Of a net that finds many boxes, of which some overlap, and others are unlikely."""
    torch.manual_seed(seed)
    model = net.build(classes=3, width=4)
    with torch.no_grad():
        model[-1].weight.mul_(60)
    detector.save_network(path, model, torch.rand(images, 3, side, side) * 2 - 1)
    return path


def altered(source: Path, path: Path, change: Callable[[Tensors], object]) -> Path:
    """Write `source` to `path` with other tensors."""
    tensors = load_file(source)
    change(tensors)
    kind = "lenet 1" if "grid" not in load_file(source) else "detector 1"
    save_file(tensors, path, {"trimtab": kind})
    return path
