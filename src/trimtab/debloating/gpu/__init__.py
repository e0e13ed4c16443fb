"""The GPU code of libraries: which parts are kept, and why."""
