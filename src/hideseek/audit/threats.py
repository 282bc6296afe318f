"""The attackers: each is named by the withheld fields of a release that he is given; they need not nest."""

from typing import Any, TypeVar

from hideseek.errors import BadInput
from hideseek.records import Attack, Release
from hideseek.records.result import Threat, weakest
from hideseek.records.secret import Secret

R = TypeVar("R", bound=Release)

OUTSIDER = Threat(
    "outsider",
    "sees only what is shared",
    "what is shared, be it encodings in their random order or updates with the model that they change; the scheme and"
    " its parameters; the public images that are in it, or the larger ones that they were cut from; images of his own;"
    " no key, no private image, and not what belongs to the same image",
)
CANDIDATES = Threat(
    "candidates",
    "also has candidate images",
    "besides, a gallery of images, of which half are private ones; not which, nor what holds them",
    ("candidates",),
)
LINKED = Threat(
    "linked",
    "also knows which rows are of one image",
    "besides, for which private image each row was made, as an observer of a party that re-encodes the same image may;"
    " not what it was mixed with",
    ("candidates", "made_for"),
)
INFORMED = Threat(
    "informed",
    "also knows the mix",
    "besides, which private images are in each row, and with what weights: labels show the weights wherever classes"
    " differ, and Kerckhoffs' attacker is given the rest; no mask, no noise",
    ("candidates", "made_for", "sources", "weights"),
)
SERVER = Threat(
    "server",
    "also keeps all rounds",
    "besides, of which round each update is, as a server knows that keeps what clients send",
    ("candidates", "round_of"),
)
STRONGEST = Threat(
    "strongest",
    "also knows labels, batch-norm statistics and the mix",
    "besides, the labels of every update, what batch norm saw of it, and which images are in each encoding, with what"
    " weights: the strongest attacker of the paper on gradient inversion (Huang et al. 2021); no mask, no noise",
    ("candidates", "round_of", "labels", "statistics", "sources", "weights"),
)
MALICIOUS = Threat(
    "malicious",
    "chose the model's weights",
    "besides, updates of the same images for a model that he made up: an imprint in front of the honest one (Fowl et"
    " al. 2022), which a client that does not look at weights trains like any other",
    ("candidates", "crafted"),
)
THREATS = (OUTSIDER, CANDIDATES, LINKED, INFORMED, SERVER, STRONGEST, MALICIOUS)


def threats_to(release: type[Release]) -> tuple[Threat, ...]:
    """Give the attackers of a kind of release: all that he may be given are fields that it withholds."""
    return tuple(threat for threat in THREATS if set(threat.gives) <= set(release.withheld))


def threat_of(attack: Attack[Any]) -> Threat:
    """Give the weakest attacker who can run an attack: the one with fewest fields that cover what it needs."""
    needed = set(attack.needs) & set(attack.sees.withheld)
    able = weakest(threats_to(attack.sees), needed)
    if able is None:
        raise BadInput(f"no attacker is given {' and '.join(sorted(needed))}: add one to THREATS.")
    return able


def seen_by(threat: Threat, release: R, secret: Secret) -> R:
    """Give a release with what this attacker knows besides."""
    return secret.reveal(release, threat.gives) if threat.gives else release


def given_to(attack: Attack[Any], release: R, secret: Secret) -> R:
    """Give a release as the weakest attacker sees it who can run an attack; one of another kind stays as it is."""
    return seen_by(threat_of(attack), release, secret) if isinstance(release, attack.sees) else release
