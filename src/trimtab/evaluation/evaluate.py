"""From the files of the other stages to tables, figures, metrics and the report."""

from pathlib import Path

from trimtab.evaluation.inputs.measurements import Inputs
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.metrics import merged
from trimtab.evaluation.report.page import render
from trimtab.evaluation.report.section import find_sections
from trimtab.files import whole_file, write_json


def evaluate(inputs: Inputs, destination: Path) -> Path:
    """Write the evaluation of an experiment to `destination` and return its `report.html`.

    Every section that applies to the experiment writes its tables to `tables/{name}.csv` and its
    figures to `figures/{name}.svg`. Then come `metrics.json` and, last, the report. A verification
    that failed is reported, not raised. Raises UserError and TrimtabError as inputs.load does,
    before anything is written.
    """
    measurements = load(inputs)
    made = [kind(measurements) for kind in find_sections()]
    sections = [section for section in made if section.applies]
    page = render(measurements, sections)
    for section in sections:
        for table in section.tables:
            table.write_csv(destination / "tables")
        for figure in section.figures:
            figure.write_svg(destination / "figures")
    write_json(destination / "metrics.json", merged(section.metrics() for section in sections))
    report = destination / "report.html"
    with whole_file(report) as temporary:
        temporary.write_text(page)
    return report
