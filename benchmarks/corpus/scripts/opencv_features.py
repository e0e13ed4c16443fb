"""Filters, features, contours, transforms and compression of images."""

import sys

import cv2
import numpy as np

size = int(sys.argv[1])
cv2.setRNGSeed(1)
image = np.zeros((size, size, 3), np.uint8)
for n in range(6):
    corner = (size * n // 8, size * (n * 3 % 7) // 8)
    cv2.rectangle(
        image, corner, (corner[0] + size // 6, corner[1] + size // 9), (40 * n, 200, 90), -1
    )
cv2.putText(image, "corpus", (9, size // 2), cv2.FONT_HERSHEY_SIMPLEX, 1, (255, 255, 255), 2)
gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
print("canny", int(cv2.Canny(cv2.GaussianBlur(gray, (5, 5), 1), 50, 120).sum()))
contours, _ = cv2.findContours(gray, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
print("contours", sorted(cv2.contourArea(contour) for contour in contours)[-3:])
print("corners", 0 if (c := cv2.goodFeaturesToTrack(gray, 20, 0.05, 5)) is None else len(c))
print("threshold", cv2.threshold(gray, 0, 255, cv2.THRESH_OTSU)[0])
turned = cv2.warpAffine(image, cv2.getRotationMatrix2D((size / 2, size / 2), 15, 1), (size, size))
print("turned", int(turned.sum()), int(cv2.resize(image, None, fx=0.4, fy=0.4).sum()))
print("morphology", int(cv2.morphologyEx(gray, cv2.MORPH_GRADIENT, np.ones((3, 3))).sum()))
for kind in (".png", ".jpg", ".webp"):
    written, data = cv2.imencode(kind, image)
    print(kind, written, int(cv2.imdecode(data, cv2.IMREAD_COLOR).astype(int).sum()) // 1000)
points = np.float32(np.random.default_rng(1).normal(size=(size, 2)))
criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 10, 0.1)
print(
    "kmeans",
    np.bincount(cv2.kmeans(points, 3, None, criteria, 2, cv2.KMEANS_PP_CENTERS)[1].ravel()).size,
)
print("dft", f"{np.abs(cv2.dft(np.float32(gray))).max():.5g}")
