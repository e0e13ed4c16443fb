"""Typed configuration: what a YAML may say, and the errors when it does not."""

from trimtab.config.compose import Configurations
from trimtab.config.fields import ConfigError
from trimtab.config.stages import dump, load, read

__all__ = ["ConfigError", "Configurations", "dump", "load", "read"]
