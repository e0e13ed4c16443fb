"""`params.yaml` is looked at before Snakemake reads it."""

from pathlib import Path

import jsonschema
import pytest
import yaml
from config_files import BOMB, PROJECT

from trimtab.config import ConfigError
from trimtab.config.parameters import overrides_of, read_overrides


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BOMB, "line 5: more than 20,000 values"),
        ("overrides: !!python/object/apply:os.system [id]", "the tag"),
        ("overrides: [", "not YAML"),
        ("overrides:", "expected a list of texts"),
        ("overrides: experiment=single", "expected a list of texts"),
        ("overrides: [a=b, {c: d}]", "overrides[1]: {'c': 'd'} given, expected a list of texts"),
        ("overrides: [5]", "overrides[0]: 5 given"),
        ("overrides: [a=b]\nexperiment: heats", "experiment: no such key"),
        ("experiment: heats", """overrides='["experiment=heats"]'"""),
        ("overrides: ['a.b=1,2']", 'in 1 2; do echo "overrides: [a.b=$value]" > params.yaml'),
        ("overrides: ['a.b=range(1,4)']", "for value in 1 2 3; do echo"),
        ("[]", "expected a list of texts"),
        ("", "expected a list of texts"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_overrides(path)
    assert expected in str(caught.value) and str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_overrides(tmp_path / "params.yaml")


def test_the_projects_own() -> None:
    read_overrides(PROJECT / "params.yaml")


def test_the_schema_says_the_same() -> None:
    schema = yaml.safe_load((PROJECT / "params.schema.yaml").read_text())
    jsonschema.validate(yaml.safe_load((PROJECT / "params.yaml").read_text()), schema)
    for wrong in ({}, {"overrides": "a=b"}, {"overrides": [], "experiment": "heats"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
        with pytest.raises(ConfigError):
            overrides_of(wrong, "params.yaml")


def test_overrides_of_the_command_line() -> None:
    assert overrides_of({"overrides": ["a=[b,c]"]}, "--config") == ["a=[b,c]"]
    with pytest.raises(ConfigError, match=r"--config: overrides\[0\]: 5 given"):
        overrides_of({"overrides": [5]}, "--config")
    with pytest.raises(ConfigError, match="--config: experiment: no such key"):
        overrides_of({"overrides": [], "experiment": "heats"}, "--config")
