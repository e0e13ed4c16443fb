"""Python's own zstd; for versions before 3.14 from the package backports.zstd."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
