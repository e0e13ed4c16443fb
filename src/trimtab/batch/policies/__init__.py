"""Policies of batch queues: a module with `build` is one."""
