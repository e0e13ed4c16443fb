"""Inputs of a workload that are not profiled: verification runs them, and says what they miss."""

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, NoNul, ParameterName, Scalar, Text, about


@dataclass(config=CHECKED, frozen=True)
class HeldOut:
    """What of a workload is another in an input that is held out; all else is as it is."""

    command: list[NoNul] = about(
        "The whole command in place of `command`. It takes `parameters` that it names in braces.",
        factory=list,
    )
    parameters: dict[ParameterName, Scalar] = about(
        "Parameters that replace or extend the workload's.", factory=dict
    )
    drive: list[Text] = about("For a server: the command in place of `server.drive`.", factory=list)
