from sklearn.datasets import load_digits
from sklearn.svm import SVC
X, y = load_digits(return_X_y=True)
print(round(SVC(gamma=0.001).fit(X[:300], y[:300]).score(X[300:600], y[300:600]), 3))
