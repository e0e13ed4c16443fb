"""The YAML files that people write: one module a Hydra group."""
