"""The stages of the workflow, a module each."""
