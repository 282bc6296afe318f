"""What leaks over epochs, in words."""

from collections.abc import Mapping, Sequence

from hideseek.records.result import Figure
from hideseek.report.epochs import EpochPoint
from hideseek.report.sentences.numbers import counted, listing, number

DECISIVE = ("recovered", "re-identified")


def scale(figure: Figure) -> str:
    """Say in a few words how a chart of a figure is read."""
    unit = f"{figure.unit}, " if figure.unit not in ("", "share") else ""
    return f"{unit}{'higher' if figure.higher_is_better else 'lower'}: more is found"


def over_epochs(series: Mapping[str, Sequence[EpochPoint]]) -> str:
    """Say how much comes back in each state, and what the curves are of; empty where there is one state alone."""
    if not series:
        return ""
    said = [
        "One model, trained plainly; all schemes share its states. Each figure is of the attack that does best in that"
        " state, with its 95 % interval, attackers who know labels and statistics among them; one who chose the weights"
        " is left out, since his do not depend on the training."
    ]
    for name, points in series.items():
        metric = next((each for each in DECISIVE if any(each in point.figures for point in points)), None)
        if metric is None:
            said.append(f"{name}: nothing could be judged in {counted(len(points), 'state')}.")
            continue
        told = [
            f"{number(point.figures[metric][1].found.mean, point.figures[metric][1].unit)} after"
            f" {counted(point.state.epoch, 'epoch')}"
            for point in points
            if metric in point.figures
        ]
        said.append(f"{name}: {metric} {listing(told)}.")
        missing = [str(point.state.epoch) for point in points if metric not in point.figures]
        if missing:
            said.append(f"No attack could be judged after epoch {listing(missing)}.")
    return " ".join(said)
