"""Who attacks: kinds of attackers by what they know, each of them knowing all that those before him know."""

from dataclasses import replace
from typing import Any

from hideseek.records import Attack, EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Threat

OUTSIDER = Threat(
    "outsider",
    "sees only what is shared",
    "the encodings in their random order, their mixed labels, the scheme and its parameters, the public images that"
    " were mixed in, and images of his own; no key, no private image, and not which rows are of one image",
)
LINKED = Threat(
    "linked",
    "also knows which rows are of one image",
    "besides, for which private image each row was made, as whoever watches a party re-encode the same image may; not"
    " what it was mixed with",
)
INFORMED = Threat(
    "informed",
    "also knows the mix",
    "besides, which private images met in each row, and with what weights: labels show the weights wherever classes"
    " differ, and Kerckhoffs' attacker is given the rest; no mask, no noise",
)
THREATS = (OUTSIDER, LINKED, INFORMED)


def threat_of(attack: Attack[Any]) -> Threat:
    """Give the weakest attacker who can run an attack."""
    if "weights" in attack.needs:
        return INFORMED
    return LINKED if "sources" in attack.needs else OUTSIDER


def seen_by(threat: Threat, release: EncodedRelease, secret: MixingSecret) -> EncodedRelease:
    """Give a release with what this attacker knows besides."""
    if threat == OUTSIDER:
        return release
    if threat == LINKED:
        return replace(release, sources=secret.sources[:, :1])
    return replace(release, sources=secret.sources, weights=secret.weights)


def knew(threat: Threat, release: EncodedRelease) -> str:
    """Say in a few words what an attack was given."""
    labelled = " with mixed labels" if release.encoded.labels.shape[1] else ""
    parts = [f"{len(release.encoded):,} encodings{labelled}", "the scheme"]
    if release.public is not None:
        parts.append(f"the {len(release.public):,} public images")
    if release.own is not None:
        parts.append(f"{len(release.own):,} images of his own")
    if threat in (LINKED, INFORMED):
        parts.append("which image each row was made for" if threat == LINKED else "who met whom, and the weights")
    return ", ".join(parts)
