"""`hideseek ledger show|budget|verify`: how often every image was released, and what may still be."""

import importlib
from collections.abc import Sequence

from hideseek.cli.mistakes import BadArguments
from hideseek.cli.terminal import say
from hideseek.errors import no_such

VERBS = {
    "show": "list releases, how often images were in them, the most that was spent of one, and what is left",
    "budget": "state what may be spent of any one image, and begin the ledger if there is none; or show it",
    "verify": "tell whether it is as it was written, and what of it was not finished or is not there",
}


def run(arguments: Sequence[str]) -> None:
    """Find the verb, and do it."""
    verb, *rest = [*arguments] or ["--help"]
    if verb in ("-h", "--help"):
        say(*_usage().split("\n"))
        return
    if verb not in VERBS:
        raise BadArguments(str(no_such("verb of ledger", verb, VERBS)))
    importlib.import_module(f"hideseek.cli.ledger_{verb}").run(rest)


def _usage() -> str:
    verbs = "\n".join(f"  {name:7} {summary}" for name, summary in VERBS.items())
    return f"""usage: hideseek ledger {"|".join(VERBS)} FILE [--help] …

{verbs}

A ledger lies beside private images, in FILE, FILE.key and FILE.head, and is never shared. `hideseek hide --ledger
FILE`, `hideseek learn --scheme dp-sgd --ledger FILE` and the gate of a federation (ledger in policy.toml) write to it
before anything leaves, and refuse what is over the budget. HIDESEEK_LEDGER names it for hide and learn in all commands.

Try:  hideseek ledger budget ledger.db --epsilon 3 --releases 20
      hideseek learn --scheme dp-sgd --epsilon 1 --data faces --ledger ledger.db --out trained
      hideseek ledger show ledger.db
      hideseek ledger verify ledger.db"""
