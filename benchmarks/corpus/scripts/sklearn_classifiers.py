"""Classifiers, clusters and a pipeline on the digits that scikit-learn carries."""

import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

samples = int(sys.argv[1])
images, digits = load_digits(return_X_y=True)
images, digits = images[:samples], digits[:samples]
seen, unseen, known, wanted = train_test_split(images, digits, random_state=0)
models = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    "forest": RandomForestClassifier(30, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "svm": GridSearchCV(SVC(), {"C": [1, 10]}, cv=3),
}
for name, model in models.items():
    print(name, f"{accuracy_score(wanted, model.fit(seen, known).predict(unseen)):.3f}")
print(np.trace(confusion_matrix(wanted, models["svm"].predict(unseen))))
print("pca", PCA(5, svd_solver="full").fit(images).explained_variance_ratio_.round(4).tolist())
print("clusters", np.bincount(KMeans(10, n_init=1, random_state=0).fit_predict(images)).tolist())
