"""An API: validated bodies, sync and async routes, and a computation of NumPy's."""

import asyncio

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Scores(BaseModel):
    """What is scored."""

    name: str
    values: list[float]


@app.post("/scores")
def scores(given: Scores) -> dict[str, float | str]:
    """The mean and spread of the values, in a worker thread."""
    return {
        "name": given.name,
        "mean": np.mean(given.values).round(6),
        "spread": np.std(given.values).round(6),
    }


@app.get("/matrix")
async def matrix(size: int) -> dict[str, float]:
    """The determinant of a matrix, in the event loop."""
    await asyncio.sleep(0)
    return {"determinant": float(np.linalg.det(np.eye(size) * 2).round(3))}
