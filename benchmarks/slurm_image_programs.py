"""The images of slurm_images.py, and the program that jobs run in each: software of others.

A program prints `ready` once it has imported what it needs, and then its answer. Its argument is
the amount of its work.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "images"))
from cases import Case

_CLASSIFIER = """
import sys
from flask import Flask, request
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
print("ready", flush=True)
flowers = load_iris()
model = LogisticRegression(max_iter=500).fit(flowers.data, flowers.target)
app = Flask("classifier")
@app.post("/predict")
def predict():
    return {"kind": int(model.predict([request.json])[0])}
client = app.test_client()
asked = [flowers.data[number % 150].tolist() for number in range(int(450 * float(sys.argv[1])))]
print(sum(client.post("/predict", json=each).json["kind"] for each in asked))
"""
_TABLE = """
import sys, numpy, pandas
print("ready", flush=True)
draws, count = numpy.random.default_rng(1), 200_000
for _ in range(round(12 * float(sys.argv[1]))):
    rows = pandas.DataFrame({"key": draws.integers(0, 100, count), "value": draws.random(count)})
    means = rows.groupby("key")["value"].agg(["mean", "std"])
    print(means.merge(rows, on="key").eval("value - mean").abs().mean().round(6))
"""
_LINTER = """
import sys
from yamllint import config, linter
print("ready", flush=True)
lines = range(int(3000 * float(sys.argv[1])))
text = "".join(f"key{number}:  [1,2, three ]\\n" for number in lines)
print(len(list(linter.run(text, config.YamlLintConfig("extends: default")))))
"""


def _case(software: str, wheels: tuple[str, ...], program: str) -> Case:
    command = ("python3", "-c", program, "1")
    return Case(software, ("python3",), command, wheels=wheels, byte_code=True)


PROGRAMS = {
    case.software: case
    for case in (
        _case("sklearn", ("flask", "scikit-learn"), _CLASSIFIER),
        _case("pandas", ("pandas",), _TABLE),
        _case("yamllint", ("yamllint",), _LINTER),
    )
}
