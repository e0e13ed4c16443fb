"""Jacobi's method for the temperatures of a heated plate, similar to Rodinia's."""

import math
from argparse import Namespace
from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import command, iterations
from trimtab.workloads.common.command import positive

_SWEEPS = 200  # per epoch
_SOURCES = 16
_WANTED_DIGITS = 3


class Jacobi(nn.Module):  # type: ignore[misc]
    """Poisson's equation on a square of `side` x `side` points, 0 at its edge.

    A sweep moves each point by `relaxation` towards the mean of its four neighbours and its source:
    1 is Jacobi's own method, above 1 it does not converge. `block` rows are swept at a time,
    without effect on results. The loss is the residual's norm relative to the sources'. The
    accuracy is the share of the wanted 3 digits reached.
    """

    def __init__(self, side: int, relaxation: float, block: int, sweeps: int, seed: int) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(seed)
        sources = torch.zeros(side, side, dtype=torch.float64)
        places = torch.randint(side * side, (_SOURCES,), generator=drawn)
        sources.view(-1)[places] = torch.rand(_SOURCES, generator=drawn, dtype=torch.float64) + 0.5
        self.relaxation, self.block, self.sweeps = relaxation, block, sweeps
        self.register_buffer("sources", sources, persistent=False)
        self.register_buffer("plate", torch.zeros(side + 2, side + 2, dtype=torch.float64))

    def advance(self, order: Any) -> float:
        """Sweep, and return the residual."""
        plate, side = self.plate, len(self.sources)
        for _ in range(self.sweeps):
            swept = plate.clone()
            for top in range(0, side, self.block):
                bottom = min(top + self.block, side)
                swept[top + 1 : bottom + 1, 1:-1] += (
                    self.relaxation / 4 * self._residual(plate, top, bottom)
                )
            plate = swept
        self.plate.copy_(plate)
        norm = torch.linalg.vector_norm
        return float(norm(self._residual(plate, 0, side)) / norm(self.sources))

    def quality(self) -> dict[str, float]:
        """Return the residual, and the share of the wanted digits reached."""
        norm = torch.linalg.vector_norm
        residual = float(norm(self._residual(self.plate, 0, len(self.sources))))
        relative = residual / float(norm(self.sources))
        digits = -math.log10(relative) if relative else math.inf
        return {
            "residual": relative,
            "validation_accuracy": min(max(digits / _WANTED_DIGITS, 0.0), 1.0),
        }

    def _residual(self, plate: Any, top: int, bottom: int) -> Any:
        """Return the residual of the rows from `top` to `bottom`."""
        rows = plate[top : bottom + 2]
        neighbours = rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:]
        return self.sources[top:bottom] + neighbours - 4 * rows[1:-1, 1:-1]


def build(arguments: Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the computation and a description of its plate."""
    sweeps = max(1, round(_SWEEPS * arguments.data_fraction))
    jacobi = Jacobi(
        arguments.side, arguments.relaxation, arguments.batch_size, sweeps, arguments.seed
    )
    source = f"{_SOURCES} sources of heat drawn from seed {arguments.seed}"
    plate = f"plate of {arguments.side} x {arguments.side} points"
    return jacobi, {"data": {"name": plate, "source": source}}


if __name__ == "__main__":
    options = command.parser("Jacobi's method on a plate.", devices=())
    iterations.add_options(options, batch_size=64)
    options.add_argument("--side", type=positive, default=1024, help="points of an edge")
    options.add_argument("--relaxation", type=float, default=1.0)
    iterations.main(options, build)
