import sys, os
sys.path.insert(0, "/tmp/h8/trial/src")
f = os.environ.get("H8_RECORDS")
if f:
    import json, threading, random, warnings, importlib.util
    from trimtab.debloating.deferred_imports.inside_program.start import start
    sys.path.remove("/tmp/h8/trial/src")
    start(f)
