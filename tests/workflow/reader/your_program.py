"""A reader's program: one package with compiled code, and whatever options."""

import sys

from markupsafe import escape

print("loss 0.087964, accuracy", len(escape("<a>")), *map(escape, sys.argv[1:2]))
