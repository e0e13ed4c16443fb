"""A line and its labels as a picture, without a screen."""

import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 2 * np.pi, 200)
figure, axes = plt.subplots()
axes.plot(x, np.sin(x), label="sine")
axes.legend()
file = io.BytesIO()
figure.savefig(file)
print(len(file.getvalue()) > 1000)
