"""The thesis' figures about tuning that an experiment reproduces, and why not the others."""

from collections.abc import Iterator
from typing import NamedTuple

from trimtab.evaluation.report.section import TUNING, find_sections
from trimtab.evaluation.report.tables import Column, Table
from trimtab.evaluation.tuning.section import TuningSection


class Shown(NamedTuple):
    """A figure of the thesis: its counterparts here, their experiment, and the differences."""

    place: str
    shows: str
    figures: tuple[str, ...]
    experiment: str
    remark: str = ""


_SIX, _EDGE = "tune_thesis_6_2", "tune_thesis_7_9_to_7_16"
_USE = "tune_thesis_7_1_to_7_4"
THESIS = (
    Shown("Figure 2.3", "batch size and cores in training", ("parameter_effects", "core_effects"),
          "tune_thesis_2_3"),
    Shown("Figure 2.4", "events of training's forward phase and of inference", ("phase_events",),
          "tune_thesis_2_4", "of this machine; the devices were not at hand"),
    Shown("Figure 6.1", "cost of tuning on rented instances", ("tuning_cost",),
          "tune_thesis_figure_6_1", "modelled: measured trials times listed prices"),
    Shown("Table 6.1", "LeNet by approach", ("tuners",), "tune_thesis_6_1"),
    Shown("Figure 6.2", "events, epoch by epoch", ("epoch_events", "workload_events"), _SIX,
          "58 events there; here those that the machine counts"),
    Shown("Figure 6.3", "tuning among other jobs", ("among_jobs",), "tune_thesis_figure_6_3",
          "the other jobs start and end with each trial"),
    Shown("Figure 6.6", "clusters of workloads", ("profile_clusters",), _SIX),
    Shown("Figure 6.7", "accuracy and trial time over tuning time",
          ("accuracy_over_tuning_time", "trials_over_tuning_time"), _SIX),
    Shown("Figures 6.8, 6.9", "tuners beside each other", ("tuners", "tuning_reductions"), _SIX),
    Shown("Figures 6.10, 6.11", "response times of jobs that share a cluster", ("multi_tenant",),
          _SIX, "simulated with measured durations, the unseen fifth's of new workloads"),
    Shown("Figures 7.1a, 7.2a", "layers and batch size in training", ("parameter_effects",), _USE),
    Shown("Figures 7.1b, 7.2b, 7.4", "layers, batch size and cores in inference",
          ("inference_effects",), _USE),
    Shown("Figure 7.3", "system parameters in training", ("core_effects",), _USE,
          "by cores; the thesis has GPUs"),
    Shown("Figure 7.8", "where search algorithms look", ("search_space",), "tune_thesis_7_8"),
    Shown("Figure 7.9", "budgets of trials", ("budgets",), _EDGE),
    Shown("Figure 7.10", "accuracy and training time over trials", ("trials_in_order",), _EDGE),
    Shown("Figures 7.11 to 7.13", "budgets, and EdgeTune beside its baseline",
          ("deployed", "tuning_reductions"), _EDGE),
    Shown("Figure 7.14", "error of the inference tuning server", ("inference_error",), _EDGE,
          "against this machine alone; the devices were not at hand"),
    Shown("Figures 7.15, 7.16", "objectives of time and of energy", ("deployed",), _EDGE),
)  # fmt: skip


class ThesisFigures(TuningSection):
    """A line for each figure of the thesis: reproduced here, or why not."""

    order = 680

    def make_tables(self) -> Iterator[Table]:
        """Yield the figures of chapters 2.4, 6 and 7."""
        drawn = {
            figure.name
            for kind in find_sections()
            if kind.chapter is TUNING and kind is not ThesisFigures
            if (section := kind(self.measurements)).applies
            for figure in section.figures
        }
        yield Table(
            "thesis_figures",
            "The thesis' figures about tuning",
            "Figures of the thesis that this experiment has data for, by the names used above, "
            "and the experiment made for each.",
            (
                Column("name", "In the thesis"),
                Column("shows", "Shows"),
                Column("figures", "Here"),
                Column("experiment", "Experiment"),
                Column("remark", "Remark"),
            ),
            tuple(
                {
                    "name": one.place,
                    "shows": one.shows,
                    "figures": ", ".join(name for name in one.figures if name in drawn)
                    or ("not measured here" if one.figures else ""),
                    "experiment": one.experiment,
                    "remark": one.remark,
                }
                for one in THESIS
            ),
        )
