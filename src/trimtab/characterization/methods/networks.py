"""The neural networks, in PyTorch: small ones as in Rocha's thesis, section 5.2.2.

A record is a square picture with one feature per pixel; recurrent networks read it row by row.
"""

from math import isqrt

from torch import Tensor, nn

from trimtab.config.groups.learning.workload import Method
from trimtab.errors import UserError


def network(method: Method, features: int, classes: int) -> nn.Module:
    """Return the untrained network of `method`: float32 [records, features] to [records, classes].

    Raises UserError for records other than pictures of 8 x 8 or more.
    """
    side = isqrt(features)
    if side * side != features or side < 8:
        raise UserError(f"{method}: {features} features given, expected a square of 8 x 8 or more")
    match method:
        case Method.CNN:
            layers = _convolutional(side, classes)
        case Method.LENET5:
            layers = _lenet5(side, classes)
        case Method.GRU:
            layers = [_Recurrent(nn.GRU(side, 64, num_layers=2, batch_first=True), classes)]
        case _:
            layers = [_Recurrent(nn.LSTM(side, 64, num_layers=2, batch_first=True), classes)]
    return nn.Sequential(nn.Unflatten(1, (1, side, side)), *layers)


def _convolutional(side: int, classes: int) -> list[nn.Module]:
    return [
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * (side // 2) ** 2, 64), nn.ReLU(), nn.Linear(64, classes)),
    ]


def _lenet5(side: int, classes: int) -> list[nn.Module]:
    """LeCun et al. 1998; here both convolutions are padded, so 8 x 8 pixels suffice."""
    return [
        *(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Conv2d(6, 16, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(16 * (side // 4) ** 2, 120), nn.Tanh()),
        *(nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, classes)),
    ]


class _Recurrent(nn.Module):  # type: ignore[misc]
    """A recurrent network over a picture's rows; its last state gives the class."""

    def __init__(self, cells: nn.RNNBase, classes: int) -> None:
        super().__init__()
        self.cells = cells
        self.out = nn.Linear(cells.hidden_size, classes)

    def forward(self, pictures: Tensor) -> Tensor:
        states, _ = self.cells(pictures.squeeze(1))
        scores: Tensor = self.out(states[:, -1])
        return scores
