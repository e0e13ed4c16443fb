"""The shipped configurations without overrides, composed once for all tests that read them."""

from config_files import PROJECT

from trimtab.config import Configurations

SHIPPED = Configurations(PROJECT / "conf")
