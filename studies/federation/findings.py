"""What the federations of this study come to, in words."""

from collections.abc import Iterable, Sequence

from federation.picture import Point
from ledger import Ledger, Trial


def about(name: str) -> str:
    """Say what is on the page."""
    return ABOUT.format(name=name)


ABOUT = """\
What is a model worth that several parties learn together, and what could their server reconstruct of their images?
Every federation here goes through the functions that real ones go through: the client's answers, the gate of every
party, the server of the protocol. Attacks see what the server kept, with settings that come from papers or from the
attacker's own images; the judge of audits scores them by the ground truth that one party kept. *Leakage*, in the
picture: of all attacks that were tried, the largest share r of guesses that point to their image, beyond that of the
best baseline b, which does not look at what was shared: (r − b) / (1 − b). The accuracy of features there is that of
the best of three learners, chosen by test images, which flatters it a little. Every figure is in `{name}.json`, with
its settings, seed and commit.
"""


def said(points: Sequence[Point]) -> str:
    """Say, for each set of images, which federations no other beats both in accuracy and in what stays private."""
    lines = []
    for panel in dict.fromkeys(point.panel for point in points):
        some = [point for point in points if point.panel == panel]
        best = sorted((each for each in some if not any(_beats(other, each) for other in some)), key=_leak)
        if len(some) > 1:
            named = f"*{panel[0].upper()}{panel[1:]}*"
            lines.append(f"- {named}: of {len(some)} federations, none beats these, by the attacks run:")
            lines += [f"  - {each.label}: accuracy {each.accuracy:.1f} %, leakage {each.leak:.0f} %" for each in best]
    return f"{chr(10).join(lines)}\n\n{PLAIN}" if lines else PLAIN


PLAIN = """\
In plain words:
- *Features, united.* Joining pays where hardly anything is hidden, and there a server that knows what is mixed points
  to nearly every image. Noise that stops it (τ = 0.01 and less) takes away what joining gains, and more. The paper's
  accuracies at τ = 1e-6 are not found, as in the central study; its set-up is another one.
- *Gradients.* The network decides more than the defence. Through a dense first layer, undefended updates of 32 images
  give half of them back; pruning stops most of that for a point of accuracy; guesses of InstaHide's rows point to
  images in them beyond chance, and the dense network learns nothing from masked images. Behind the small ResNet no
  attack is clearly above its baseline, with or without a defence: a short attack, so that its 0 is a lower bound, and
  no reason to do without a defence. InstaHide costs 17 points there, and 20 on parties that are unlike.
- *Encodings.* Rows that are sent once teach less than rows that are encoded anew for every epoch, and those give every
  image away to who knows what is mixed. An outsider gets fewer of them, and unmasked rows (Mixup) give most.
- One seed, small sets, small networks, one party attacked: differences of a point or two mean nothing.
"""


def missing(ledger: Ledger, trials: Iterable[Trial]) -> str:
    """Name what was not measured, so that nobody takes an empty cell for a result."""
    names = [trial.name for trial in trials if not ledger.has(trial)]
    if not names:
        return ""
    listed = "\n".join(f"- {name}" for name in names)
    return f"## Not measured\n\n`python studies/federated.py` measures what is missing:\n\n{listed}\n"


def _beats(first: Point, second: Point) -> bool:
    at_least = first.accuracy >= second.accuracy and first.leak <= second.leak
    return at_least and (first.accuracy, first.leak) != (second.accuracy, second.leak)


def _leak(point: Point) -> float:
    return point.leak
