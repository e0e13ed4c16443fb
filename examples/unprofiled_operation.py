"""One operation of PyTorch on real data: what an environment does that was debloated for another.

    python unprofiled_operation.py --operation matmul       # profile and debloat with this one
    python unprofiled_operation.py --operation svd          # then ask for another

What was removed of the operation's code comes back, so that the result is the original's; where it
cannot, the result says which exception was raised.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch

from trimtab.workloads.common import command, torch_device
from trimtab.workloads.data import digits

# Of images as a matrix [samples, 64]. Each needs other kernels, most of another library too.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda images: images @ images.T,
    "matmul_half": lambda images: images.half() @ images.half().T,
    "fft": lambda images: torch.fft.rfft2(images.reshape(-1, 8, 8)).abs(),
    "svd": lambda images: torch.linalg.svdvals(images),
    "solve": lambda images: torch.linalg.solve(
        images.T @ images + torch.eye(64).to(images), images.T
    ),
    "sparse": lambda images: images.to_sparse_csr() @ images.T,
    "convolution": lambda images: torch.nn.functional.conv2d(
        images.reshape(-1, 1, 8, 8), images[:4].reshape(4, 1, 8, 8)
    ),
    "sort": lambda images: images.sort(dim=0).values,
    "cumsum": lambda images: images.double().cumsum(dim=1),
    "erfinv": lambda images: torch.erfinv(images / 2),
}


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the operation's sum over its result, or the exception that it raised."""
    device = torch_device.prepare(arguments.device, arguments.seed)
    images = torch.from_numpy(digits.load().train.inputs).flatten(1).float() / 255
    result: dict[str, Any] = {"operation": arguments.operation, "sum": None, "raised": None}
    try:
        # Reading the sum waits for the GPU: an error of a launched kernel shows here at the latest.
        result["sum"] = OPERATIONS[arguments.operation](images.to(device)).double().sum().item()
    except Exception as error:  # whatever it is, it is the result
        result["raised"] = {"type": type(error).__name__, "message": str(error)}
    return result | {"device": torch_device.described(device), "torch": torch.__version__}


if __name__ == "__main__":
    options = command.parser("One operation of PyTorch on scikit-learn's digits.")
    options.add_argument("--operation", choices=OPERATIONS, default="matmul")
    command.main(options, run)
