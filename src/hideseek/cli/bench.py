"""`hideseek bench rows|updates|board|check`: the fixed benchmark, and its leaderboard."""

import importlib
from collections.abc import Sequence

from hideseek.cli.mistakes import BadArguments
from hideseek.cli.terminal import say
from hideseek.errors import no_such

VERBS = {
    "rows": "measure ways of sharing images as encodings, an entry each",
    "updates": "measure defences of updates of a model, an entry each",
    "check": "say of every entry whether its evidence is whole",
    "board": "write the leaderboard of entries",
}
MODULES = {"rows": "bench_measure", "updates": "bench_measure", "check": "bench_board", "board": "bench_board"}


def run(arguments: Sequence[str]) -> None:
    """Find the verb, and do it."""
    verb, *rest = [*arguments] or ["--help"]
    if verb in ("-h", "--help"):
        say(*_usage().split("\n"))
        return
    if verb not in VERBS:
        raise BadArguments(str(no_such("verb of bench", verb, VERBS)))
    importlib.import_module(f"hideseek.cli.{MODULES[verb]}").run(verb, rest)


def _usage() -> str:
    verbs = "\n".join(f"  {name:8} {summary}" for name, summary in VERBS.items())
    return f"""usage: hideseek bench {"|".join(VERBS)} … [--help]

{verbs}

Everything is fixed but the way of sharing: the images, how often they are shared, the attacks with their settings, the
training, the seeds. An entry is a folder: entry.json has accuracies and costs, result.json is the whole audit with the
proofs of every attack, found.png shows what the worst attack found. No entry stands on a leaderboard without all of it.
CIFAR-10 is downloaded on first use. An entry takes some ten minutes on two cores; one that was stopped goes on when the
same command is given again.

Try:  hideseek bench rows mixup --quick --out entries
      hideseek bench rows instahide-inside:k=6,laplace:alpha=0.3 --out leaderboard/rows
      hideseek bench updates gradient-pruning:p=0.95 --out leaderboard/updates
      hideseek bench board leaderboard/rows --out leaderboard/rows.md"""
