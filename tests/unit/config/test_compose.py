import re
import warnings
from pathlib import Path

import pytest
from config_files import PROJECT, workload, write
from shipped_configurations import SHIPPED

from trimtab.config import ConfigError, Configurations
from trimtab.config.layers import ConfigLayers
from trimtab.config.root import GROUPS

OF_FIGURES = [
    "tune_thesis_2_4",
    "tune_thesis_figure_6_3",
]  # whose programs are tuned, too, and not debloated


def stems(group: str) -> list[str]:
    return sorted(path.stem for path in (PROJECT / "conf" / group).glob("*.yaml"))


@pytest.fixture(scope="module")
def shipped() -> Configurations:
    return SHIPPED


@pytest.mark.parametrize("group", GROUPS)
def test_every_shipped_option_composes(group: str, shipped: Configurations) -> None:
    assert stems(group)
    for name in stems(group):
        assert shipped.option(group, name).name == name


@pytest.mark.parametrize("name", stems("experiment"))
def test_every_shipped_experiment_finds_all_that_it_names(name: str) -> None:
    assert Configurations(PROJECT / "conf", [f"experiment={name}"]).root.experiment.name == name


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("workload", "other"),
        ("hardware", "gpu_a40"),
        ("debloat", "zero"),
        ("trace", "dias_mostly_high"),  # builds on another file
        ("policy", "heats_08"),
        ("objective", "two_priorities"),  # the chosen one
        ("experiment", "single"),  # interpolates keys of other groups
    ],
)
def test_an_option_is_what_choosing_it_gives(conf: Path, group: str, name: str) -> None:
    """One group composed by itself against the whole, with everything that has a say in it."""
    text = (conf / "config.yaml").read_text()
    write(conf, "config.yaml", f"{text}debloat: {{minimum_hole_bytes: 65536}}\n")
    text = (conf / "experiment/quickstart.yaml").read_text()
    said = "workload: {timeout_s: 11}\ntrace: {seed: 5}\n"
    write(conf, "experiment/quickstart.yaml", text + said)
    overrides = [
        "hardware.power_relative_error=0.25",
        "++policy.parameters.tick_s=7",
        "+workload.env.MACHINE=${hardware.name}",
    ]
    alone = Configurations(conf, overrides).option(group, name)
    whole = getattr(Configurations(conf, [*overrides, f"{group}={name}"]).root, group)
    assert alone == whole


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("experiment/on_other.yaml", "# @package _global_\nworkload: {timeout_s: 12}\n"),
        ("workload/other.yaml", "# @package _global_\nworkload: {timeout_s: 13}\n"),
        ("workload/other.yaml", "defaults: [lenet5_train, _self_]\ntimeout_s: 14\n"),
        ("workload/lenet5_train.yaml", "defaults: [other]\ntimeout_s: 15\n"),
    ],
    ids=["a list with the choice", "a header", "a list", "a list of the chosen one"],
)
def test_what_comes_with_an_option_comes_with_it_alone(conf: Path, file: str, text: str) -> None:
    if file.startswith("experiment"):
        config = (conf / "config.yaml").read_text()
        write(conf, "config.yaml", config.replace(": quickstart", ": on_${workload}"))
    for name in ("lenet5_train", "other"):
        write(conf, f"experiment/on_{name}.yaml", "# @package _global_\nexperiment: {name: x}\n")
    write(conf, file, text)
    layers = ConfigLayers(conf, [])
    layers.whole()
    whole = ConfigLayers(conf, ["workload=other"]).whole()
    assert layers.option("workload", "other") == whole["workload"]


def test_an_override_needs_no_plus_where_the_file_leaves_the_default(conf: Path) -> None:
    root = Configurations(conf, ["workload.marks.epoch=x", "trace.seed=3"]).root
    assert (root.workload.marks.epoch, root.trace.seed) == ("x", 3)


def test_every_workload_of_the_projects_environment_is_debloated_or_of_a_program_that_is_tuned(
    shipped: Configurations,
) -> None:
    experiment = shipped.option("experiment", "full")
    of_thesis = shipped.options("experiment", ["tune_thesis_6_2", "tune_thesis_7_1", *OF_FIGURES])
    workloads = {each.name: each for each in shipped.options("workload", stems("workload"))}
    ours = {name for name, each in workloads.items() if each.python == ".venv/bin/python"}
    tuned = [workloads[name] for table in of_thesis for name in table.tune.workloads]
    programs = {program for each in tuned for program in each.command if program.endswith(".py")}
    of_tuned = {name for name in ours if programs & set(workloads[name].command)}
    assert set(experiment.workloads) | of_tuned == ours >= set(experiment.workloads)
    assert len(set(experiment.workloads) - of_tuned) >= 6
    assert any(len(names) > 1 for names in experiment.targets.values())
    for name in experiment.workloads:
        assert experiment.targets[name] == [name]


def test_a_tuner_comes_after_one_that_comes_after_none(conf: Path) -> None:
    for name, after in (("one", "two"), ("two", "one"), ("three", "four")):
        write(conf, f"tuner/{name}.yaml", {"name": name, "kind": "pipetune", "after": after})
    for tuner, said in (("one", "tuner/one.yaml: tuner.after: 'two' given"), ("three", "four")):
        tune = f"experiment.tune={{tuners: [{tuner}], workloads: [lenet5_train]}}"
        with pytest.raises(ConfigError, match=re.escape(said)):
            Configurations(conf, [tune])


def test_inference_is_not_measured_alone_on_a_device_that_is_not_here() -> None:
    of = "experiment.tune.workloads=[lenet5_for_raspberry_pi]"
    Configurations(PROJECT / "conf", ["experiment=tune_edge_quick", of])
    with pytest.raises(ConfigError, match="inference_alone: true given, expected false"):
        Configurations(PROJECT / "conf", ["experiment=tune_inference_error_quick", of])


def test_single_experiment_is_a_target_of_the_chosen_workload(conf: Path) -> None:
    root = Configurations(conf, ["experiment=single", "workload=other"]).root
    assert root.experiment.targets == {"other": ["other"]}
    assert root.experiment.hardware == [root.hardware.name]


def test_overrides_hold_for_options_that_are_not_the_chosen_ones(conf: Path) -> None:
    configurations = Configurations(conf, ["workload.timeout_s=7"])
    assert configurations.option("workload", "other").name == "other"
    assert configurations.option("workload", "other").timeout_s == 7


def test_experiment_sets_keys_outside_its_group(conf: Path) -> None:
    text = (conf / "experiment/quickstart.yaml").read_text()
    write(conf, "experiment/quickstart.yaml", f"{text}profiling: {{repeats: 9}}\n")
    assert Configurations(conf).root.profiling.repeats == 9
    assert Configurations(conf, ["profiling.repeats=4"]).root.profiling.repeats == 4


def test_an_edited_file_is_read_again(conf: Path) -> None:
    assert Configurations(conf).option("workload", "lenet5_train").workdir == "."
    write(conf, "workload/lenet5_train.yaml", workload(workdir="x"))
    assert Configurations(conf).option("workload", "lenet5_train").workdir == "x"


def test_mistake_in_a_workload_of_the_experiment_that_is_not_the_chosen_one(conf: Path) -> None:
    write(conf, "workload/other.yaml", workload("other", timeout_s=0))
    Configurations(conf)
    targets = "+experiment.targets.both=[lenet5_train,other]"
    with pytest.raises(ConfigError, match=r"workload/other\.yaml: workload\.timeout_s: 0"):
        Configurations(conf, [targets])
    alone = Configurations(conf, [targets], to_run=False)  # as commands that ask for an option
    assert alone.option("hardware", "gpu_a40").name == "gpu_a40"
    with pytest.raises(ConfigError, match="timeout_s: 0"):
        alone.option("workload", "other")


def test_targets_of_different_environments_are_refused(conf: Path) -> None:
    write(conf, "workload/other.yaml", workload("other", python="elsewhere/python"))
    with pytest.raises(ConfigError, match=r"targets\.both.*different environments.*elsewhere"):
        Configurations(conf, ["+experiment.targets.both=[lenet5_train,other]"])


def test_fleets_are_of_images_that_are_written(conf: Path) -> None:
    for name in ("one", "two"):
        target = {"kind": "image", "location": f"{name}.tar"}
        write(conf, f"workload/{name}.yaml", workload(name, python=None, target=target))
    targets = [f"+experiment.targets.{name}=[{name}]" for name in ("one", "two", "other")]
    packed, fleet = "debloat.fallback=packed", "+experiment.fleets.both=[one,two]"
    found = Configurations(conf, [*targets, packed, fleet]).root.experiment
    assert found.fleets == {"both": ["one", "two"]}
    with pytest.raises(ConfigError, match=r"experiment\.fleets\.both: given with .*original"):
        Configurations(conf, [*targets, fleet])
    for members, match in [
        ("[one,other]", r"fleets\.both: 'other' given, expected targets .*kind: image"),
        ("[one,three]", r"fleets\.both.*at least two targets of the experiment"),
        ("[one]", r"fleets\.both.*at least two targets"),
        ("[one,one]", r"fleets\.both.*every name once"),
    ]:
        with pytest.raises(ConfigError, match=match):
            Configurations(conf, [*targets, packed, f"+experiment.fleets.both={members}"])


def test_paths_are_checked_from_the_project(conf: Path, tmp_path: Path) -> None:
    configurations = Configurations(conf)
    with pytest.raises(ConfigError, match=r"lenet5_train\.yaml: workload\.python: 'bin/python'"):
        configurations.check_paths(tmp_path)
    interpreter = tmp_path / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.touch(mode=0o755)
    configurations.check_paths(tmp_path)
    write(conf, "workload/lenet5_train.yaml", workload(workdir="nowhere"))
    with pytest.raises(ConfigError, match=r"workload\.workdir: 'nowhere'"):
        Configurations(conf).check_paths(tmp_path)


@pytest.mark.parametrize("file", ["experiment/quickstart.yaml", "debloat/compact.yaml"])
def test_old_keys_are_told_in_one_line_with_their_file(conf: Path, file: str) -> None:
    """It was a warning of two lines, with the path of a library."""
    text = (conf / file).read_text()
    if file.startswith("experiment"):
        write(conf, file, f"{text}  files: keep\n  unloaded: remove\n")  # debloat is its last key
    else:
        write(conf, file, f"{text}files: keep\nunloaded: remove\n")
    with warnings.catch_warnings(action="error"):
        given = Configurations(conf)
    assert given.root.debloat.remove == "libraries"
    [note] = given.notes
    assert note.startswith(f"{conf / file}: debloat: ") and "\n" not in note
    assert note.endswith("of the old `files` and `unloaded` write `remove: libraries`")


def test_an_old_key_beside_the_new_one_names_its_file(conf: Path) -> None:
    path = conf / "experiment/quickstart.yaml"
    text = path.read_text()
    write(conf, "experiment/quickstart.yaml", text + "  remove: files\n  files: keep\n")
    with pytest.raises(ConfigError, match=r"quickstart\.yaml: debloat\.files: .*delete `files`"):
        Configurations(conf)
    assert Configurations(PROJECT / "conf").notes == []
