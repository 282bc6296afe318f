"""`hideseek federate run DIR`: a SuperLink, its nodes and a run, on this machine, and nothing left at the end."""

from collections.abc import Sequence

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import Run
from hideseek.cli.federate_simulate import need_flower
from hideseek.cli.terminal import say
from hideseek.federate.project import OUT, SERVED
from hideseek.federate.server import read_metrics
from hideseek.files import new_file
from hideseek.report.federation_curve import draw_rounds
from hideseek.train.trained import MODEL


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and run."""
    asked = parse(Run, "hideseek federate run", arguments)
    need_flower()
    from hideseek.federate.flower.trial import Trial

    Trial.of(asked.folder, asked.port).run(say)
    out = asked.folder / SERVED / OUT
    with new_file(out / "curve.png") as file:
        draw_rounds(read_metrics(out), f"the federation in {asked.folder}", file)
    say(f"The model is in {out / MODEL}, the curve in {out / 'curve.png'}.")
    say(f"What left each node is in {asked.folder}/node-*/kept/left.jsonl.")
