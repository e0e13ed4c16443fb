"""Makes PyTorch deterministic, on the requested device."""

from typing import Any

import torch

from trimtab.workloads.data import InputError


def prepare(device: str, seed: int, threads: int = 1) -> Any:
    """Make PyTorch deterministic and return the torch.device named `device`.

    This sets deterministic algorithms, no cuDNN benchmarking, and float32 without TF32. On a GPU,
    cuBLAS is deterministic with CUBLAS_WORKSPACE_CONFIG=:4096:8 in the environment; PyTorch refuses
    to run without. Raises InputError for a missing device.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"--device cuda: PyTorch {torch.__version__} finds no GPU: it needs a build for CUDA "
            f"and NVIDIA's driver"
        )
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch.device(device)


def described(device: Any) -> str:
    """Return the device's name: `cpu`, or the GPU's name and compute capability."""
    if device.type == "cpu":
        return "cpu"
    major, minor = torch.cuda.get_device_capability(device)
    return f"{torch.cuda.get_device_name(device)}, compute capability {major}.{minor}"
