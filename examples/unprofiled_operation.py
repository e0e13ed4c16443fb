"""One PyTorch operation on real data, to test environments debloated for another operation.

    python unprofiled_operation.py --operation matmul       # profile and debloat with this one
    python unprofiled_operation.py --operation svd          # then ask for another

Removed code of the operation comes back, so the result equals the original's. Where it cannot, the
result names the exception.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch

from trimtab.workloads.common import command, torch_device
from trimtab.workloads.data import digits

# Operations on images as a matrix [samples, 64]. Each needs other kernels, most also another
# library.
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
    """Return the sum of the operation's result, or its exception."""
    device = torch_device.prepare(arguments.device, arguments.seed)
    images = torch.from_numpy(digits.load().train.inputs).flatten(1).float() / 255
    result: dict[str, Any] = {"operation": arguments.operation, "sum": None, "raised": None}
    try:
        # Reading the sum waits for the GPU, so errors of launched kernels show here at the latest.
        result["sum"] = OPERATIONS[arguments.operation](images.to(device)).double().sum().item()
    except Exception as error:  # any exception is the result
        result["raised"] = {"type": type(error).__name__, "message": str(error)}
    return result | {"device": torch_device.described(device), "torch": torch.__version__}


if __name__ == "__main__":
    options = command.parser("One operation of PyTorch on scikit-learn's digits.")
    options.add_argument("--operation", choices=OPERATIONS, default="matmul")
    command.main(options, run)
