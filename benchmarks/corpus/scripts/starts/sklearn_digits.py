"""The first example of scikit-learn's tutorial: a support vector machine for digits."""

from sklearn import datasets, svm

digits = datasets.load_digits()
clf = svm.SVC(gamma=0.001, C=100.0)
clf.fit(digits.data[:-1], digits.target[:-1])
print(clf.predict(digits.data[-1:]))
