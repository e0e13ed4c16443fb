"""The GPUs of a node: a job has a share of one of them, or whole ones.

A share is rounded up to slices, and lies on the GPU with the least room for it. More than a GPU is
rounded up to whole ones, the first free ones. `s.gpus` has each GPU's free slices.
"""

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies.layout import WHOLE_GPU, KernelModel, KernelState, index


@inlined
def _slices(slices: int, gpu: int) -> int:
    """Return the slices that a job with the demand `gpu` takes of each of its GPUs."""
    return slices if gpu >= WHOLE_GPU else (gpu * slices + WHOLE_GPU - 1) // WHOLE_GPU


@lean
def _choose(m: KernelModel, s: KernelState, number: int, gpu: int) -> int:
    """Return the GPUs for a job with the demand `gpu` on a node with room, as bits."""
    node = s.nodes[index(number)]
    slices = m.kinds[index(node.type)].gpu_slices
    asked = _slices(slices, gpu)
    left = (gpu + WHOLE_GPU - 1) // WHOLE_GPU
    chosen, least = 0, slices + 1
    for at in range(node.gpu // WHOLE_GPU):
        free = s.gpus[number, at]
        if gpu >= WHOLE_GPU:
            if left > 0 and free == slices:
                chosen |= 1 << at
                left -= 1
        elif asked <= free < least:
            chosen, least = 1 << at, free
    return chosen


@lean
def free_gpu(m: KernelModel, s: KernelState, number: int, gpus: int, gpu: int) -> tuple[int, int]:
    """Return the free thousandths on a node, and the largest demand with room.

    This is as if the job with the demand `gpu` on `gpus` (bits, 0 for none) had left.
    """
    node = s.nodes[index(number)]
    slices = m.kinds[index(node.type)].gpu_slices
    back = _slices(slices, gpu)
    total = most = whole = 0
    for at in range(node.gpu // WHOLE_GPU):
        free = s.gpus[number, at] + ((gpus >> at) & 1) * back
        milli = free * WHOLE_GPU // slices
        total += milli
        most = max(most, milli)
        if free == slices:
            whole += WHOLE_GPU
    return total, max(most, whole)


@lean
def _change(m: KernelModel, s: KernelState, number: int, gpus: int, slices: int) -> None:
    """Add free slices to each of `gpus`, bits, of a node."""
    node, now_s = s.nodes[index(number)], s.clock[0].now_s
    elapsed = (now_s - node.gpu_at_s) * 1e-3
    whole = node.largest_gpu if node.largest_gpu >= WHOLE_GPU else 0
    node.free_gpu_s += elapsed * node.free_gpu
    node.fragmented_gpu_s += elapsed * (node.free_gpu - whole)
    node.gpu_at_s = now_s
    for at in range(node.gpu // WHOLE_GPU):
        s.gpus[number, at] += ((gpus >> at) & 1) * slices
    node.free_gpu, node.largest_gpu = free_gpu(m, s, number, 0, 0)


@lean
def take_gpus(m: KernelModel, s: KernelState, number: int, gpu: int) -> int:
    """Take the GPUs of a job with the demand `gpu` on a node; return them as bits."""
    gpus = _choose(m, s, number, gpu)
    kind = s.nodes[index(number)].type
    _change(m, s, number, gpus, -_slices(m.kinds[index(kind)].gpu_slices, gpu))
    return int(gpus)


@lean
def give_back_gpus(m: KernelModel, s: KernelState, number: int, gpus: int, gpu: int) -> None:
    """Free the GPUs, as bits, of a job with the demand `gpu` on a node."""
    kind = s.nodes[index(number)].type
    _change(m, s, number, gpus, _slices(m.kinds[index(kind)].gpu_slices, gpu))
