"""What is wrong with a queue that was asked about."""

from trimtab.errors import UserError


class ModelError(UserError, ValueError):
    """A parameter of a model (a rate, a matrix, a probability) is not one."""


class UnstableQueueError(ModelError):
    """More work arrives than the server can do, or a mean that was asked for is infinite."""
