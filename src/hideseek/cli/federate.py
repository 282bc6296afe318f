"""`hideseek federate simulate|init|run|superlink|node|check`: several parties, one model, on Flower."""

import importlib
from collections.abc import Sequence

from hideseek.cli.mistakes import BadArguments
from hideseek.cli.terminal import say
from hideseek.errors import no_such

VERBS = {
    "simulate": "run a federation on this machine, with parties that share one set of images",
    "init": "write a federation of real processes: a Flower app, certificates, a folder for each node",
    "run": "run what init wrote, on this machine: a SuperLink, its nodes, the app",
    "superlink": "start the server side of a federation, which nodes of other machines connect to",
    "node": "start the node of one party, whose answers pass its owner's policy",
    "check": "recompute what the privacy settings of a Flower project or an NVFlare job promise",
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

Try:  hideseek federate simulate --parties 10 --data faces --rounds 5 --out federated
      hideseek federate init trial --data faces --size 24 --rounds 3 && trial/run.sh
      hideseek federate check my-flower-project"""
