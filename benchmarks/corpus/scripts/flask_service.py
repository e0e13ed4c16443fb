"""A WSGI application with a model that each worker process trains as it starts."""

from flask import Flask, jsonify, request
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

app = Flask(__name__)
features, kinds = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=300).fit(features, kinds)


@app.get("/ready")
def ready() -> str:
    """Whether the model is there: it is once the module is."""
    return "yes"


@app.post("/predict")
def predict():
    """The kind of each flower that was sent."""
    return jsonify(model.predict(request.get_json()["flowers"]).tolist())
