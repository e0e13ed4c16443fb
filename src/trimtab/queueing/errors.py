"""Errors of queueing models."""

from trimtab.errors import UserError


class ModelError(UserError, ValueError):
    """A parameter of a model (a rate, a matrix, a probability) is invalid."""


class UnstableQueueError(ModelError):
    """More work arrives than the server can do, or a requested mean is infinite."""
