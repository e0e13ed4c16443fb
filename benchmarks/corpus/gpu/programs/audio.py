"""Spectra and a convolutional encoder over sound: audio.py [SAMPLES ...]"""

import sys

import torch
import torchaudio

torch.manual_seed(0)
spectrum = torchaudio.transforms.MelSpectrogram(16000, n_fft=400, n_mels=40).cuda()
encoder = torch.nn.Sequential(
    torch.nn.Conv1d(40, 64, 3, stride=2), torch.nn.BatchNorm1d(64), torch.nn.ReLU(),
    torch.nn.Conv1d(64, 32, 5), torch.nn.AdaptiveAvgPool1d(4),
).cuda().eval()  # fmt: skip
for samples in map(int, sys.argv[1:] or ["16000"]):
    wave = torch.sin(torch.arange(2 * samples, device="cuda").reshape(2, -1) * 0.01)
    with torch.inference_mode():
        y = encoder((spectrum(wave) + 1e-6).log())
    print(samples, f"{y.norm().item():.3f}", flush=True)
