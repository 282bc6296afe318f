"""`hideseek federate simulate|init|run|superlink|node|check`: several parties, one model, on Flower."""

import importlib
from collections.abc import Sequence

from hideseek.cli.mistakes import BadArguments
from hideseek.cli.terminal import say
from hideseek.errors import no_such

VERBS = {
    "simulate": "run a federation on this machine, of one set of images",
    "init": "write one of real processes: a Flower app, certificates, nodes",
    "run": "run what init wrote, on this machine, to its end",
    "superlink": "start the server's side, which nodes of other machines connect to",
    "node": "start one party's node, whose answers pass its owner's policy",
    "check": "recompute the ε that a Flower project or an NVFlare job states",
}


def run(arguments: Sequence[str]) -> None:
    """Find the verb, and do it."""
    verb, *rest = [*arguments] or ["--help"]
    if verb in ("-h", "--help"):
        say(*_usage().split("\n"))
        return
    if verb not in VERBS:
        raise BadArguments(str(no_such("verb of federate", verb, VERBS)))
    importlib.import_module(f"hideseek.cli.federate_{verb}").run(rest)


def _usage() -> str:
    verbs = "\n".join(f"  {name:10} {summary}" for name, summary in VERBS.items())
    return f"""usage: hideseek federate {"|".join(VERBS)} [--help] …

{verbs}

Try:  hideseek federate simulate --data faces --rounds 5 --out federated
      hideseek federate init trial --data faces --size 24 && trial/run.sh
      hideseek federate check my-flower-project"""
