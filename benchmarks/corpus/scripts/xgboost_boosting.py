"""Boosted trees of XGBoost: classes, numbers, survival, saved and read again."""

import sys

import numpy as np
import xgboost

rows = int(sys.argv[1])
random = np.random.default_rng(rows)
features = random.standard_normal((rows, 8)).astype(np.float32)
features[::9, 2] = np.nan
numbers = features[:, 0] * 2 + np.sin(features[:, 1] * 3) + random.normal(0, 0.1, rows)
data = xgboost.DMatrix(features, numbers)
options = {"max_depth": 3, "seed": 1, "tree_method": "hist"}
trained = xgboost.train(options, data, 20, evals=[(data, "seen")], verbose_eval=False)
print("regression", trained.predict(data)[:4].round(3).tolist())
again = xgboost.Booster()
again.load_model(trained.save_raw("ubj"))
print("saved", np.array_equal(again.predict(data), trained.predict(data)))
classes = (numbers > 0).astype(int) + (numbers > 1.5)
model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, subsample=0.8, random_state=1)
print("classes", f"{model.fit(features, classes).score(features, classes):.3f}")
print(
    "linear",
    xgboost.train({"booster": "gblinear", "updater": "coord_descent"}, data, 5)
    .predict(data)[:2]
    .round(2),
)
print(
    "dart",
    xgboost.train(options | {"booster": "dart"}, data, 5).predict(data)[:2].round(3).tolist(),
)
print("contributions", trained.predict(data, pred_contribs=True)[:2].sum(1).round(3).tolist())
print("scores", sorted(trained.get_score(importance_type="weight").items())[:3])
