"""The headings that sections share; a section may as well bring a heading of its own."""

from trimtab.evaluation.report.section import Chapter

SIZE = Chapter("sizes", "Size", "Size")
GPU_CODE = Chapter("gpu", "GPU code", "GPU code")
IN_COMMON = Chapter("common", "What the targets have in common", "In common")
RUNS = Chapter("runs", "Memory, time and energy", "Memory, time, energy")
EFFORT = Chapter("effort", "What it took", "Effort")
LIBRARIES = Chapter("libraries", "Library by library", "Libraries")
SCHEDULES = Chapter("schedules", "Schedules", "Schedules")
