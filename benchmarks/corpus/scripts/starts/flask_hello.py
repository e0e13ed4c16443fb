"""The first example of Flask's documentation, served as it says."""

import sys

from flask import Flask

app = Flask(__name__)


@app.route("/")
def hello_world():
    return "<p>Hello, World!</p>"


if __name__ == "__main__":
    app.run(port=int(sys.argv[1]))
