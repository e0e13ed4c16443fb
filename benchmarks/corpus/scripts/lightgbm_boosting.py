"""Boosted trees of LightGBM: classes, numbers and ranks, saved and read again."""

import sys

import lightgbm
import numpy as np

rows = int(sys.argv[1])
random = np.random.default_rng(rows)
features = random.standard_normal((rows, 8))
numbers = features[:, 0] * 2 + np.sin(features[:, 1] * 3) + random.normal(0, 0.1, rows)
classes = (numbers > 0).astype(int) + (numbers > 1.5)
options = {"verbose": -1, "seed": 1, "deterministic": True, "force_row_wise": True, "num_leaves": 7}
trained = lightgbm.train(
    options | {"objective": "regression"}, lightgbm.Dataset(features, numbers), 20
)
print("regression", trained.predict(features[:4]).round(4).tolist())
again = lightgbm.Booster(model_str=trained.model_to_string())
print("saved", np.array_equal(again.predict(features), trained.predict(features)))
model = lightgbm.LGBMClassifier(n_estimators=15, **options).fit(features, classes)
print("classes", f"{model.score(features, classes):.3f}", model.feature_importances_.tolist())
ranker = lightgbm.LGBMRanker(n_estimators=10, min_child_samples=5, **options)
ranker.fit(features, classes, group=[rows // 4] * 4 + ([rows % 4] if rows % 4 else []))
print("ranks", np.argsort(ranker.predict(features))[-3:].tolist())
shares = trained.predict(features[:2], pred_contrib=True)
print("contributions", shares.sum(1).round(3).tolist())
halves = lightgbm.cv(
    options | {"objective": "regression"}, lightgbm.Dataset(features, numbers), 5, stratified=False
)
print("cv", f"{halves['valid l2-mean'][-1]:.4f}")
