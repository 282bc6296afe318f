"""InstaHide and Mixup broken: every attack of ours and every published one, on rows of real images, and what helps.

The private images are CIFAR-10's from 20,000 on, the public ones patches of Tiny-ImageNet, with c1 = 0.65 and c2 = 0.3;
settings were chosen on attacker-side images, or on the first thousand of CIFAR-10, and never on these.

    python studies/breaking_instahide.py
    python studies/breaking_instahide.py --only unmask-public
"""

from collections.abc import Iterator
from pathlib import Path

from breaking import (
    byte_decoding,
    carlini,
    chen,
    generator,
    link_and_solve,
    luo,
    phase_retrieval,
    smooth_signs,
    unmask_public,
    what_helps,
)
from breaking.tables import Plot, Target, targets
from ledger import Ledger, Trial, conduct

TITLE = "Breaking InstaHide and Mixup"
PARTS = (
    byte_decoding,
    unmask_public,
    smooth_signs,
    phase_retrieval,
    link_and_solve,
    carlini,
    chen,
    luo,
    generator,
    what_helps,
)
TARGETS: tuple[Target, ...] = (
    *byte_decoding.TARGETS,
    *unmask_public.TARGETS,
    *phase_retrieval.TARGETS,
    *link_and_solve.TARGETS,
    *chen.TARGETS,
)
PLOTS: tuple[Plot, ...] = (
    *unmask_public.PLOTS,
    *phase_retrieval.PLOTS,
    *link_and_solve.PLOTS,
    what_helps.LABELS_PLOT,
    what_helps.PLOT,
)
ABOUT = """Private images: CIFAR-10 from 20,000 on; public ones: 32 × 32 patches of Tiny-ImageNet; c1 = 0.65,
c2 = 0.3; means over the seeds 0, 1 and 2 (± the deviation, or the range) where there is more than one. *recovered*:
correlation at least 0.9 and SSIM at least 0.8 with the truth, and its fine detail right. Two cores, no GPU. Every
figure is in `{name}.json`, with its settings, seed and commit.
"""
MOVED = """Shifts of up to four pixels and mirrors, 20 images in 20 rounds, k = 4; asked: better than the cluster mean
and `carlini`, by SSIM. The cluster mean is a stronger attacker's, who knows which rows are of one image.
Mechanism: `augmented`; attack: `link-shifted`.
"""
SMOOTH = """Each of 160 images is hidden once; the attacker has nothing but the rows. What comes back is the mixture of
each row, by which its images are picked among all private ones and as many others, mirrored. Attack: `smooth-signs`.
"""
HELPS = """The share of private images that an attack recovers from the same release, shared in different ways, in
brackets the share that is re-identified among all private images of the release; and the accuracy of a model that is
trained on it: small-resnet, 20,000 images of CIFAR-10, five epochs, encoded anew for each. Where labels are rounded or
drawn, the weights are searched for in the row itself: by byte-decoding at k = 2, by unmask-public always. Of rows in
float16, unmask-public leaves the mixture: it looks for no weights there, though right ones would decode many images.
Mechanism: `coarse`.
"""


def trials(scale: str) -> Iterator[Trial]:
    """Give the trials of every part."""
    for part in PARTS:
        yield from part.trials(scale)


def render(ledger: Ledger, path: Path, scale: str) -> None:
    """Write the table and draw the plots, from what was measured."""
    said = [
        f"# {TITLE}\n",
        ABOUT.format(name=path.stem),
        "## What was asked, and what was reached\n",
        targets(ledger, TARGETS),
    ]
    said += ["## Images moved before they are mixed\n", MOVED, luo.moved(ledger)]
    said += ["## Masks undone from rows alone\n", SMOOTH, smooth_signs.smooth(ledger)]
    said += ["## What helps\n", HELPS, what_helps.helps(ledger)]
    said += ["## A public set as large as ImageNet\n", unmask_public.imagenet(ledger)]
    for plot in PLOTS:
        picture = path.with_name(f"{path.stem}-{plot.name}.png")
        if plot.draw(ledger, picture):
            said.append(f"## {plot.title}\n\n![{plot.title}]({picture.name})\n")
    said.append(ledger.legend("breaking_instahide.py"))
    path.with_suffix(".md").write_text("\n".join(part for part in said if part), "utf-8")


if __name__ == "__main__":
    conduct(__doc__, "breaking_instahide", TITLE, trials, render)
