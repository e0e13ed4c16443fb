"""Figures of several kinds, drawn to pixels, SVG and PDF."""

import hashlib
import io
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "corpus", "svg.fonttype": "path"})

points = int(sys.argv[1])
random = np.random.default_rng(points)
x = np.linspace(0, 10, points)
figure, axes = plt.subplots(2, 3, figsize=(9, 6))
axes[0, 0].plot(x, np.sin(x), "--", label=r"$\sin x$")
axes[0, 0].legend()
axes[0, 1].scatter(x, random.random(points), c=x, s=9, cmap="viridis")
axes[0, 2].hist(random.standard_normal(points), bins=20)
axes[1, 0].imshow(np.outer(np.sin(x), np.cos(x)))
axes[1, 1].contourf(*np.meshgrid(x[:40], x[:40]), np.add.outer(x[:40], x[:40] ** 2))
axes[1, 2].bar(["a", "b", "c"], [1, 3, 2], yerr=0.2)
axes[1, 2].set_title("bars with errors")
figure.tight_layout()
figure.canvas.draw()
pixels = np.asarray(figure.canvas.buffer_rgba())
print("pixels", pixels.shape, hashlib.sha256(pixels.tobytes()).hexdigest()[:16])
for kind, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=metadata)
    print(kind, hashlib.sha256(file.getvalue()).hexdigest()[:16])
file = io.BytesIO()
figure.savefig(file, format="png", dpi=70)
print("png", plt.imread(io.BytesIO(file.getvalue())).shape)
