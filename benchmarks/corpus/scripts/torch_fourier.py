"""Fourier transforms, spectrograms, windows, decompositions and special functions of tensors."""

import sys

import torch

size = int(sys.argv[1])
torch.manual_seed(0)
x = torch.randn(4, size)
print("round trip", torch.allclose(torch.fft.irfft(torch.fft.rfft(x), size), x, atol=1e-5))
print("two", f"{torch.fft.fft2(x[:, : size // 2]).abs().max():.4f}")
spectrogram = torch.stft(x, 32, window=torch.hann_window(32), return_complex=True)
print("stft", tuple(spectrogram.shape), f"{spectrogram.abs().mean():.4f}")
print("istft", tuple(torch.istft(spectrogram, 32, window=torch.hann_window(32)).shape))
matrix = x @ x.t() + torch.eye(4) * size
print("svd", torch.linalg.svdvals(matrix).round(decimals=2).tolist())
print("solve", torch.allclose(matrix @ torch.linalg.solve(matrix, x), x, atol=1e-3))
print(
    "eigen",
    f"{torch.linalg.eigvalsh(matrix)[-1]:.3f}",
    f"{torch.linalg.cholesky(matrix)[0, 0]:.4f}",
)
print(
    "special",
    torch.special.bessel_j0(torch.linspace(0, 4, 3)).tolist(),
    f"{torch.erf(x).sum():.3f}",
)
z = torch.fft.fft(x.double().requires_grad_())
z.abs().sum().backward()
print("sorted", x.sort(1).indices[0, :6].tolist(), torch.topk(x[1], 3).indices.tolist())
print(
    "convolved",
    f"{torch.conv1d(x[:, None], torch.ones(1, 1, 5)).std():.4f}",
    torch.histc(x, 4).tolist(),
)
