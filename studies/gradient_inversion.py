"""Gradient inversion (Huang et al. 2021): Table 5, its figures, and the same defences against attackers who know them.

python studies/gradient_inversion.py
python studies/gradient_inversion.py --only table5
python studies/gradient_inversion.py --only "table5 adaptive: convnet, batch 16"
"""

from collections.abc import Iterator
from pathlib import Path

from inversion import accuracy, epochs, figure9, floors, instahide, mnist, settings, sheets, table5, tables
from ledger import Ledger, Trial, conduct

TITLE = "Gradient inversion"
PARTS = (floors, table5, instahide, settings, figure9, mnist, epochs, accuracy)
ABOUT = """50 images of CIFAR-10 from 20,000 on, five of a class, shared in full batches with 14 others. LPIPS by VGG
on pixels enlarged to 64 × 64: the mean, in brackets the best and the deviation, over the 50 images; lower is worse for
their owner. *Published* is the paper's attacker with fewer steps (200, for digits 300; the paper takes 10,000): it
compares with the entries that were sent, and decodes mixtures of five epochs by known indices and weights. *Adaptive*
is ours, who knows the defence, and chooses among three attacks by what they do on a batch of his own images. Networks
are untrained, and far smaller than the paper's ResNet-18 (164,000 and 429,000 parameters, not 11 million), so that
gradients of 16 images tell less: LPIPS is to be compared with the floors, and the order of defences with the paper's,
not LPIPS with the paper's. Every figure is of one seed, and in `{name}.json` with its settings and its commit: there
are several commits, since cells were measured as attacks came to be.
"""
TABLE_5 = """Attack: `gradient-matching`, as published (`huang2021-strongest`, `huang2021-realistic`) and adaptive.
Defence: `gradient-pruning` (p=…), and encodings.
"""
COSTS = """Trained with each gradient of a batch of 128 defended: the paper ResNet-18 on all of CIFAR-10 for 200 epochs;
here a small ResNet on 10,000 images for five: what is lost can be compared, accuracies cannot. Defence:
`gradient-pruning` (p=…), and encodings.
"""
FOUND = """Which defence stands when the attacker knows it?
- Pruning slows an attacker down, and costs accuracy. Behind ConvNet ours correlates more with the images in every such
  column (0.43 for 0.33 undefended, 0.29 for 0.26 at p = 0.99), and picks as many or more up to p = 0.9; at 0.999
  neither picks many of a batch of 16. Single digits are all picked at p = 0.999.
- MixUp does not stand against who keeps five epochs and knows the mix: the images themselves are sought in all updates
  at once. Behind ConvNet far more of them are picked than from undefended gradients of one epoch, with pruning too;
  behind the small ResNet about as many.
- Intra-InstaHide is not inverted in batches of 16 behind convolutions: neither attacker is above the floors. Single
  rows come back from LeNet, and batches through a dense first layer, exactly; then attacks on InstaHide's rows take
  over, and with nothing known but the updates they recover two in five images of CIFAR-10 (*decoding*,
  *instahide-figure5*).
- LPIPS is a poor judge of such guesses: the mean image has a better one than many that point to their image in a
  gallery. Orders of defences are therefore compared by both.

Our prior weighs more in larger batches, as own images asked for by PSNR and correlation. By images picked it is no
gain: undefended, behind the small ResNet (16 images, strongest), correlation rose from 0.38 to 0.40 and picks fell
from 30 to 20 %; behind ConvNet in batches of 32 the attack as printed picks 25 % and ours 16 %, with a correlation of
0.31 and 0.37. Smooth guesses are nearer to their image, and to others too. What was not measured is listed at the end.
"""
DECODED = """InstaHide's own Figure 5 has gradient matching fail on a row of InstaHide, k = 4, where one of Mixup comes
back. *instahide-figure5*: LeNet, single rows; *decoding*: batches of 16. decode-known has indices and weights,
decode-blind nothing but updates and their rounds.
"""
MISSING = """`--scale paper` (ResNet-18, 10,000 steps, 20 epochs decoded in every column) needs a GPU; there was none.
At this scale {missing} of {planned} trials were left out for time: decodings, which took up to 11 minutes of a core
each where they were measured. `python studies/gradient_inversion.py` goes on with them:
"""


def trials(scale: str) -> Iterator[Trial]:
    """Give the trials of every part."""
    for part in PARTS:
        yield from part.trials(scale)


def render(ledger: Ledger, path: Path, scale: str) -> None:
    """Write the tables and draw the pictures, from what was measured."""
    said = [f"# {TITLE}\n", ABOUT.format(name=path.stem), FOUND, "## Table 5\n", TABLE_5, tables.table5(ledger, scale)]
    said += ["## What defences cost\n", COSTS, tables.accuracies(ledger)]
    said += ["## Encodings, decoded over 20 epochs\n", DECODED, instahide.tables(ledger, scale)]
    figure = path.with_name(f"{path.stem}-instahide-figure5.png")
    if not figure.exists():
        instahide.picture(figure)
    said.append(f"![InstaHide's Figure 5]({figure.name})\n")
    for heading, text in tables.others(ledger, scale).items():
        said += [f"## {heading}\n", text] if text else []
    said += [f"## {title}\n\n![{title}]({picture.name})\n" for title, picture in sheets.drawn(scale, path)]
    said += ["## Not measured\n", not_measured(ledger, scale), ledger.legend("gradient_inversion.py")]
    path.with_suffix(".md").write_text("\n".join(part for part in said if part), "utf-8")


def not_measured(ledger: Ledger, scale: str) -> str:
    """List the trials that were not run."""
    planned = list(trials(scale))
    missing = [f"- {trial.name}\n" for trial in planned if ledger.results(trial.name) is None]
    said = MISSING.format(missing=len(missing), planned=len(planned))
    return f"{said}\n{''.join(missing)}" if missing else ""


if __name__ == "__main__":
    conduct(__doc__, "gradient_inversion", TITLE, trials, render)
