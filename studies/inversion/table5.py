"""Table 5: every defence, both attackers, batches of 16 and 32; and the same again, attacked adaptively.

python studies/gradient_inversion.py --only table5
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal

from inversion.columns import ATTACKERS, BATCHES, COLUMNS, TARGETS, Attacker, attacked_images, own_images
from inversion.measured import attacked, file_name
from ledger import Trial

from hideseek.hide.files.schemes import to_json
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Attack
from hideseek.records.update_encoder import Mode
from hideseek.seek import ATTACKS, VARIANTS
from hideseek.seek.updates.decode import DecodeKnown, DecodeUpdates
from hideseek.seek.updates.gradient_matching import GradientMatching

Way = Literal["published", "adaptive"]
SHARED = 64  # images, so that batches are full
STEPS = {"cpu": 200, "paper": 10_000}
DECODING_STEPS = {"cpu": 80, "paper": 10_000}  # for each update of all rounds
ROUNDS = {"cpu": 5, "paper": 20}  # epochs whose encodings are decoded together
WAYS: tuple[Way, ...] = ("published", "adaptive")


@dataclass(frozen=True)
class Setting:
    """A network, its mode, and who attacks it.

    Both attackers know labels. The strongest knows what was mixed, too, and what batch norm saw where there is some:
    without, the realistic one differs from him in mixtures alone, and is left out.
    """

    model: str
    mode: Mode
    attackers: tuple[Attacker, ...] = ATTACKERS


SETTINGS = {
    "cpu": (
        Setting("convnet", "eval", ("strongest",)),
        Setting("small-resnet", "train"),
    ),
    "paper": (Setting("resnet18", "train"),),
}


def published(attacker: Attacker, steps: int) -> GradientMatching:
    """Give the paper's attacker, with fewer steps on a processor."""
    found = VARIANTS[f"huang2021-{attacker}"]
    assert isinstance(found, GradientMatching)  # noqa: S101
    return replace(found, optimiser=found.optimiser.lowered(steps))


def adaptive(attacker: Attacker, steps: int) -> dict[str, GradientMatching]:
    """Give the attacks among which an adaptive attacker chooses: ours, that knows the defence, and those as printed."""
    known = GradientMatching(labels="known", statistics="exact" if attacker == "strongest" else "offered")
    ours = replace(known, optimiser=known.optimiser.lowered(steps))
    printed = published(attacker, steps)
    return {"ours": ours, "ours, surviving entries": replace(ours, compares="surviving"), "as printed": printed}


def trials(scale: str) -> Iterator[Trial]:
    """Give every cell."""
    for way, setting in product(WAYS, SETTINGS[scale]):
        for batch, attacker in product(BATCHES, setting.attackers):
            for name, column in COLUMNS.items():
                title = cell(way, setting.model, batch, attacker, name)
                scheme = column.scheme(setting.model, batch, setting.mode)
                rounds = 1 if column.encoding is None else ROUNDS[scale]
                about: dict[str, Any] = {
                    "scheme": to_json(scheme),
                    "attacker": attacker,
                    "steps": STEPS[scale],
                    "rounds": rounds,
                }
                about |= {"images": SHARED, "seed": 0}
                about |= {"prior growth": GradientMatching().prior_growth} if way == "adaptive" else {}
                run_it = partial(_measured, way, attacker, scale, scheme, rounds, title)
                yield Trial("table5", title, about, run_it, judged=True)


def cell(way: Way, model: str, batch: int, attacker: Attacker, column: str) -> str:
    """Name a cell."""
    return f"table5 {way}: {model}, batch {batch}, {attacker}, {column}"


def _measured(
    way: Way, attacker: Attacker, scale: str, scheme: ShareUpdates, rounds: int, title: str
) -> dict[str, Any]:
    attack: Attack[Any]
    if scheme.encoding is not None:
        attack, chosen = decoding(way, attacker, DECODING_STEPS[scale]), ""
    elif way == "published":
        attack, chosen = published(attacker, STEPS[scale]), ""
    else:
        attack, chosen = chosen_on_own(adaptive(attacker, STEPS[scale]), scheme)
    found = attacked(
        scheme, attacked_images(SHARED), attack, TARGETS, own=own_images(), rounds=rounds, picture=file_name(title)
    )
    return found | ({"chosen": chosen} if chosen else {})


def decoding(way: Way, attacker: Attacker, steps: int) -> DecodeUpdates:
    """Give the attack on mixtures over epochs.

    The strongest attacker knows what was mixed; the other does not, so that rows are decoded by attacks on rows. As
    published each update is inverted by itself, and the rows of all rounds solved for images.
    """
    known = attacker == "strongest"
    matching = adaptive(attacker, steps)["ours"] if way == "adaptive" else published(attacker, steps)
    usual = ATTACKS["decode-known" if known else "decode-blind"]
    assert isinstance(usual, DecodeUpdates)  # noqa: S101
    found = replace(usual, matching=matching)
    return replace(found, joint=None) if isinstance(found, DecodeKnown) and way == "published" else found


def chosen_on_own(attacks: dict[str, GradientMatching], scheme: ShareUpdates) -> tuple[GradientMatching, str]:
    """Choose the attack that does best on a batch of own images, by correlation, in a third of the steps."""
    images = own_images().take(slice(0, scheme.batch))
    rest = own_images().take(slice(scheme.batch, None))
    found = {
        name: attacked(scheme, images, _shortened(attack), scheme.batch, own=rest)["correlation"]
        for name, attack in attacks.items()
    }
    best = max(found, key=lambda name: found[name])
    return attacks[best], best


def _shortened(attack: GradientMatching) -> GradientMatching:
    return replace(attack, optimiser=attack.optimiser.lowered(attack.optimiser.steps // 3))
