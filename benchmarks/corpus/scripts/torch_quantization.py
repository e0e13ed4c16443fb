"""A network quantized dynamically and statically to 8 bits, and fake-quantized while it trains."""

import sys
import warnings

import torch
from torch import nn
from torch.ao import quantization

batch = int(sys.argv[1])
warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
x = torch.randn(batch, 3, 12, 12)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        )

    def forward(self, x):
        return self.dequant(self.layers(self.quant(x)))


network = Network().eval()
quantization.fuse_modules(network.layers, [["0", "1", "2"]], inplace=True)
network.qconfig = quantization.get_default_qconfig("fbgemm")
prepared = quantization.prepare(network)
prepared(x)
print("static", quantization.convert(prepared)(x).mean(0).round(decimals=2).tolist())
recurrent = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2)).eval()
dynamic = quantization.quantize_dynamic(recurrent, {nn.Linear}, torch.qint8)
print("dynamic", dynamic(x[:, 0, 0]).mean(0).round(decimals=2).tolist())
tensor = torch.quantize_per_channel(
    x[0, :, 0], torch.tensor([0.1, 0.05, 0.2]), torch.zeros(3, dtype=torch.long), 0, torch.qint8
)
print("tensor", tensor.int_repr().sum().item(), f"{tensor.dequantize().std():.3f}")
fake = torch.fake_quantize_per_tensor_affine(x.requires_grad_(), 0.1, 0, -128, 127)
fake.sum().backward()
print("fake", int(x.grad.sum()))
