"""Network files for native task programs: safetensors, docs/methods/enclaves.md."""

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from trimtab.workloads.common.command import beside


def outputs(model: Any, images: Any) -> Any:
    """Return the outputs of `model` for `images`, in double precision, as a reference for C."""
    precise = deepcopy(model).cpu().double().eval()
    with torch.inference_mode():
        return precise(images.cpu().double())


def save(path: Path, kind: str, model: Any, images: Any, made: Any, **more: Any) -> None:
    """Write a file of float32: the layers of `model`, `images`, and its outputs `made`.

    `kind` names the architecture and the version of the file. Layer n is `weights.n` [outputs,
    inputs, kernel, kernel] and `biases.n` [outputs]; the kernel of a fully connected layer is as
    large as its input image. `more` has further tensors, by name.
    """
    # Imported here, as no workload needs safetensors to run.
    from safetensors.numpy import save as as_bytes

    tensors = {"images": images, "outputs": made, **more}
    channels = images.shape[1]
    layers = [layer for layer in model if isinstance(layer, nn.Conv2d | nn.Linear)]
    for number, layer in enumerate(layers):
        weight = layer.weight.detach()
        side = math.isqrt(weight[0].numel() // channels)
        channels = len(weight)
        tensors[f"weights.{number}"] = weight.reshape(channels, -1, side, side)
        tensors[f"biases.{number}"] = layer.bias.detach()
    single = {name: np.asarray(tensor, np.float32, order="C") for name, tensor in tensors.items()}
    temporary = beside(path)
    temporary.write_bytes(as_bytes(single, {"trimtab": kind}))
    temporary.replace(path)
