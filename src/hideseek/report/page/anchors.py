"""Names of places in a page: the same in every page of the same audit, and no two alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from hideseek.records.result import AttackResult, Result, SchemeResult
from hideseek.report.headline import rank, worst_attack
from hideseek.report.words import slug


@dataclass(frozen=True)
class PlacedAttack:
    """An attack on a scheme, and where it stands: `mixup/mixup-pairs`."""

    tried: AttackResult
    place: str


@dataclass(frozen=True)
class PlacedScheme:
    """A scheme, where it stands, and its attacks, what broke it first."""

    audited: SchemeResult
    place: str
    attacks: tuple[PlacedAttack, ...]

    @property
    def worst(self) -> PlacedAttack | None:
        """The attack that did most harm, or came nearest."""
        worst = worst_attack(self.audited)
        return next((attack for attack in self.attacks if attack.tried is worst), None)

    def named(self, name: str) -> PlacedAttack | None:
        """Give the attack of that name; None where there is none."""
        return next((attack for attack in self.attacks if attack.tried.attack == name), None)


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
    for audited in result.schemes:
        place = new(slug(audited.name) or "scheme")
        attacks = [PlacedAttack(tried, new(f"{place}/{slug(tried.attack) or 'attack'}")) for tried in audited.attacks]
        attacks.sort(key=lambda attack: rank(attack.tried))
        schemes.append(PlacedScheme(audited, place, tuple(attacks)))
    return tuple(schemes)


def subjects(schemes: Iterable[PlacedScheme]) -> dict[str, str]:
    """Say where that stands which a flag is about: a scheme, or scheme and attack with a slash between."""
    places: dict[str, str] = {}
    for scheme in schemes:
        places.setdefault(scheme.audited.name, scheme.place)
        for attack in scheme.attacks:
            places.setdefault(f"{scheme.audited.name}/{attack.tried.attack}", attack.place)
    return places
