"""Steps of a small diffusion network, convolutions and attention in bf16: diffusion.py [SIDE ...]"""

import sys

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  everybody calls it so


class Block(nn.Module):
    """A convolution and self-attention over all pixels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.GroupNorm(8, width), nn.Linear(width, 3 * width)
        self.convolution = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.convolution(F.silu(self.norm(x)))
        b, c, h, w = x.shape
        q, k, v = self.attention(x.flatten(2).mT).reshape(b, h * w, 3, 4, c // 4).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return x + y.transpose(1, 2).reshape(b, h * w, c).mT.reshape(b, c, h, w)


torch.manual_seed(0)
head, body, tail = (
    nn.Conv2d(3, 64, 3, padding=1),
    nn.Sequential(Block(64), Block(64)),
    nn.Conv2d(64, 3, 1),
)
model = nn.Sequential(head, body, tail).cuda().bfloat16().eval()
for side in map(int, sys.argv[1:] or ["32"]):
    x = torch.randn(2, 3, side, side, device="cuda", dtype=torch.bfloat16)
    with torch.inference_mode():
        for _ in range(4):
            x = x - 0.1 * model(F.interpolate(F.avg_pool2d(x, 2), (side, side), mode="bilinear"))
    print(side, f"{x.float().norm().item():.1f}", flush=True)
