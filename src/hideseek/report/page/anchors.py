"""Names of places in a page: the same in every page of the same audit, and no two alike."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hideseek.records.result import AttackResult, Result, SchemeResult
from hideseek.report.ranking import reading_order, worst_attack


@dataclass(frozen=True)
class PlacedAttack:
    """An attack on a scheme, and where it stands: `mixup/mixup-pairs`."""

    result: AttackResult
    place: str


@dataclass(frozen=True)
class PlacedScheme:
    """A scheme, where it stands, and its attacks, what broke it first."""

    result: SchemeResult
    place: str
    attacks: tuple[PlacedAttack, ...]

    @property
    def worst(self) -> PlacedAttack | None:
        """The attack that did most harm, or came nearest."""
        worst = worst_attack(self.result)
        return next((attack for attack in self.attacks if attack.result is worst), None)

    def named(self, name: str) -> PlacedAttack | None:
        """Give the attack of that name; None where there is none."""
        return next((attack for attack in self.attacks if attack.result.attack == name), None)


def anchor(text: str) -> str:
    """Make a name that an address may hold.

    >>> anchor("Mixup (k = 4)"), anchor("<b>&")
    ('mixup-k-4', 'b')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def placed(result: Result, taken: Iterable[str]) -> tuple[PlacedScheme, ...]:
    """Give a place to each scheme and each attack, beside those that the page itself has taken."""
    names = set(taken)

    def new(wanted: str) -> str:
        name, number = wanted, 1
        while name in names:
            number += 1
            name = f"{wanted}-{number}"
        names.add(name)
        return name

    schemes = []
    for scheme in result.schemes:
        place = new(anchor(scheme.name) or "scheme")
        attacks = [PlacedAttack(each, new(f"{place}/{anchor(each.attack) or 'attack'}")) for each in scheme.attacks]
        attacks.sort(key=lambda attack: reading_order(attack.result))
        schemes.append(PlacedScheme(scheme, place, tuple(attacks)))
    return tuple(schemes)


def subjects(schemes: Iterable[PlacedScheme]) -> dict[tuple[str, str], str]:
    """Give the place of every scheme and attack that a flag may be about, by their names; a scheme has no attack."""
    places: dict[tuple[str, str], str] = {}
    for scheme in schemes:
        places.setdefault((scheme.result.name, ""), scheme.place)
        for attack in scheme.attacks:
            places.setdefault((scheme.result.name, attack.result.attack), attack.place)
    return places
