"""A page for every mechanism, defence and attack, from its docstring and its line in a registry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from effect_cases import effects
from page import Page, documented, joined, table
from results import measured

from hideseek.audit.threats import threat_of
from hideseek.cli.demo import SHOWN
from hideseek.hide import ENCODERS, RecipeEncoder
from hideseek.hide.updates import DEFENCES
from hideseek.records import Attack, EncodedRelease, Encoder, Known
from hideseek.records.defence import Defence
from hideseek.records.model_release import ModelRelease
from hideseek.seek import ATTACKS, ON_MODELS, VARIANTS, describe, settings

T = TypeVar("T")
ROUNDS = 10  # of which it is said what is known: more than one


def by_class(registry: Mapping[str, T]) -> dict[type[T], dict[str, T]]:
    """Group the entries of a registry by their class, in order."""
    groups: dict[type[T], dict[str, T]] = {}
    for name, entry in registry.items():
        groups.setdefault(type(entry), {})[name] = entry
    return groups


def mechanism_pages() -> Iterator[Page]:
    """Give a page a mechanism, after a list of all schemes."""
    groups = by_class(ENCODERS)
    wrappers = [cls for cls in Encoder.mechanisms.values() if issubclass(cls, RecipeEncoder) and cls not in groups]
    listed = [
        (f"[`{name}`]({cls.mechanism}.md)", _plain(scheme.summary()), _settings(scheme))
        for cls, schemes in groups.items()
        for name, scheme in schemes.items()
    ]
    listed += [
        (f"[{cls.mechanism}]({cls.mechanism}.md)", _first_line(cls), "around another scheme") for cls in wrappers
    ]
    defences = [(f"[`{name}`](../defences/{name}.md)", _first_line(type(each))) for name, each in DEFENCES.items()]
    yield Page(
        "mechanisms/index.md",
        "Mechanisms",
        joined(
            "# Mechanisms",
            "A mechanism is a class, a scheme a value of it: its settings, as a paper has them. Hidden is not safe:"
            " each page says what is known against it.",
            table(["scheme", "what it does", "settings"], listed),
            "## Defences of updates",
            table(["defence", "what it does"], defences),
        ),
    )
    for cls, schemes in groups.items():
        yield _mechanism(cls, schemes)
    for cls in wrappers:
        yield _mechanism(cls, {})


def _mechanism(cls: type[RecipeEncoder], schemes: dict[str, RecipeEncoder]) -> Page:
    name = cls.mechanism
    known: dict[Known, list[str]] = {}
    for each, scheme in schemes.items():
        for fact in scheme.known(ROUNDS, labelled=True, of_bytes=True):
            known.setdefault(fact, []).append(each)
    drawn = any(shown.mechanism == name for shown in SHOWN.values())
    return Page(
        f"mechanisms/{name}.md",
        name,
        joined(
            f"# {name}",
            table(["", ""], [("from", cls.source)]),
            documented(cls, _settings_of(cls)),
            _schemes(schemes),
            f"## What it does to faces\n\n![Faces, mixed, as they would be shared, and in absolute values]({name}.png)"
            if drawn
            else "",
            _known(
                {fact: named if len(named) < len(schemes) else [] for fact, named in known.items()},
                f"## What is known of it\n\nIn {ROUNDS} rounds, with labels, of images in bytes:",
            ),
            measured((name, *schemes)),
        ),
    )


def _schemes(schemes: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", _settings(scheme)) for name, scheme in schemes.items()]
    return joined("## Schemes", table(["name", "settings"], rows)) if rows else ""


def defence_pages() -> Iterator[Page]:
    """Give a page a defence of updates."""
    for name, defence in DEFENCES.items():
        yield Page(f"defences/{name}.md", name, _defence(name, defence))


def _defence(name: str, defence: Defence) -> str:
    return joined(
        f"# {name}",
        table(["", ""], [("from", defence.source)]),
        documented(type(defence), _settings_of(type(defence))),
        _known({fact: [] for fact in defence.known(ROUNDS)}, "## What is known of it"),
        measured((name,)),
    )


def attack_pages() -> Iterator[Page]:
    """Give a page a kind of attack, after a list of all."""
    groups = by_class({**ATTACKS, **VARIANTS, **ON_MODELS})
    listed = [
        (f"[`{name}`]({next(iter(attacks))}.md)", _plain(describe(attack)), _attacker(attack)[0], _kind(attack))
        for attacks in groups.values()
        for name, attack in attacks.items()
    ]
    yield Page(
        "attacks/index.md",
        "Attacks",
        joined(
            "# Attacks",
            "An attack sees what would be shared, and nothing else. Each is tested with a case where it must succeed"
            " and one where it must be at chance. The weakest attacker who can run it is named as in the"
            " [threat model](../threat-model.md).",
            table(["attack", "what it does", "weakest attacker", "of"], listed),
        ),
    )
    for attacks in groups.values():
        yield _attack(attacks)


def _attack(attacks: dict[str, Attack[Any]]) -> Page:
    name, attack = next(iter(attacks.items()))
    attacker, who = _attacker(attack)
    facts = [
        ("from", attack.source),
        ("attacks", _kind(attack)),
        ("weakest attacker", f"**{attacker}**, who {who}"),
        ("needs of the release", _listed(attack.needs) or "what is shared"),
        ("the worst that it can show", attack.shows.value),
        ("runs", _runs(name)),
    ]
    presets = [(f"`{each}`", _plain(describe(value)), _runs(each)) for each, value in attacks.items()]
    return Page(
        f"attacks/{name}.md",
        name,
        joined(
            f"# {name}",
            table(["", ""], facts),
            documented(type(attack), settings(attack)),
            effects(tuple(attacks)),
            joined("## Settings by name", table(["name", "what it does", "runs"], presets)) if len(presets) > 1 else "",
            measured(tuple(attacks)),
        ),
    )


def _known(facts: Mapping[Known, list[str]], head: str) -> str:
    """List what is known, with the schemes that it is known of, unless these are all."""
    lines = [f"- {f'{_listed(of)}: ' if of else ''}{fact.statement} *({fact.citation})*" for fact, of in facts.items()]
    return joined(head, "\n".join(lines)) if facts else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _kind(attack: Attack[Any]) -> str:
    if issubclass(attack.sees, ModelRelease):
        return "a trained model"
    return "encodings" if issubclass(EncodedRelease, attack.sees) else "updates of a model"


def _attacker(attack: Attack[Any]) -> tuple[str, str]:
    """Name the weakest attacker, and say what he knows."""
    if issubclass(attack.sees, ModelRelease):
        return "candidates", "has the model, and candidate images with their labels"
    threat = threat_of(attack)
    return threat.name, threat.title


def _runs(name: str) -> str:
    if name in ON_MODELS:
        return "in `hideseek audit model`"
    return "in every audit that it applies to" if name in ATTACKS else "where it is named"


def _settings_of(cls: Any) -> Iterable[str]:
    return (field.name for field in fields(cls))


def _settings(scheme: Any) -> str:
    return ", ".join(f"{field.name} = {getattr(scheme, field.name)}" for field in fields(scheme)) or "none"


def _first_line(cls: type) -> str:
    return _plain((cls.__doc__ or "").partition("\n")[0])


def _plain(text: str) -> str:
    """Keep what Markdown would take for emphasis."""
    return text.replace("_", "\\_").replace("*", "\\*")
