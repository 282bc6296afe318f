"""`hideseek demo`: the main job on the embedded sets, and a picture of what every scheme does to faces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from hideseek.chance import Randomness, secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.audit import perform
from hideseek.cli.audit_options import Accuracies, Attacking, Audit, Images, Output, Several
from hideseek.cli.audit_question import question_of
from hideseek.cli.terminal import say
from hideseek.data import load, normalise
from hideseek.files import must_be_new, new_file
from hideseek.hide import ENCODERS, Augmented, Geometry, InstaHide, RecipeEncoder
from hideseek.hide.mixing.blend import blender
from hideseek.hide.mixing.recipe import Recipe
from hideseek.hide.named import schemes
from hideseek.records import Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.report import Row, contact_sheet

STAGES = ("original", "mix", "encoding", "|encoding|")
SHOWN = {
    **ENCODERS,
    "instahide, augmented": Augmented(InstaHide(), Geometry(shift=0.1, crop=0.8, rotation=15, flip=True)),
}
SCHEMES = "mixup,instahide-inside,instahide-cross,singularized-mixup"


@dataclass(frozen=True)
class Demo:
    """Audit ways of sharing the embedded faces, by default Mixup, InstaHide inside and cross, Singularized Mixup.

    Faces are attacked, by somebody who has others of his own; photographs are learnt from. It takes a few minutes on
    two cores, and writes report.html, with the faces as they are, since these are public, and faces.png: what every
    scheme does to them.
    """

    out: Path = Path("demo")
    """The folder to write."""
    schemes: str = SCHEMES
    """The ways of sharing, with commas between."""
    rounds: int = 10
    """How often every face is hidden and shared."""
    budget: str = "4m"
    """How long it may take, about."""
    seed: int | None = None
    """Draw everything from this number."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, audit and draw."""
    asked = parse(Demo, "hideseek demo", arguments)
    must_be_new(asked.out)
    asked_schemes = schemes(asked.schemes)
    mixed_in = any(scheme.mixes_public for scheme in asked_schemes.values())
    audit = Audit(
        Several(),
        Images("faces", public="patches:photos?each=1" if mixed_in else None, own="faces?split=test"),
        Output(asked.out, show_private=True),
        Attacking(asked.rounds, budget=asked.budget, seed=asked.seed),
        Accuracies(learn_on="photos"),
    )
    perform(audit, lambda: question_of(audit, asked_schemes))
    picture = demo_sheet(secure() if asked.seed is None else seeded(asked.seed))
    with new_file(asked.out / "faces.png") as file:
        picture.save(file, "PNG")
    say(f"What hiding does to faces: {(asked.out / 'faces.png').resolve()}")


def demo_sheet(chance: Randomness, faces: int = 3) -> Image.Image:
    """Hide the embedded faces with every scheme, and draw some of them at every stage (like Figure 1 of InstaHide)."""
    private = normalise(load("faces"), "channel")
    public = normalise(
        load("patches:photos?each=1", size=private.shape[1:], channels=1, labelled=False), private.normalisation
    )
    rows = [Row(name, stages(scheme, private, public, chance, faces)) for name, scheme in SHOWN.items()]
    foot = (
        "original: the image that gave most of its row.  mix: the weighted sum.  encoding: what would be shared.  "
        "|encoding|: what no mask of signs hides.\n"
        "Hidden is not safe: where you can still see a face, so can everyone; where you cannot, an attack may.  "
        "Mixup and InstaHide are broken."
    )
    return contact_sheet("What hiding does to faces", STAGES * faces, rows, foot, group=len(STAGES))


def stages(
    scheme: RecipeEncoder, private: Samples, public: Samples, chance: Randomness, faces: int
) -> list[Float[Tensor, "c h w"]]:
    """Follow some faces through a scheme."""
    release, secret = scheme.hide(private, public, chance)
    mixes = mixtures(scheme, secret, public)
    tiles = []
    for row in _rows_of_faces(secret)[:faces]:
        source = secret.sources[row, secret.weights[row, : secret.sources.shape[1]].argmax()]
        encoding = release.encoded.images[row]
        tiles += [private.pixels(source[None])[0], mixes[row], encoding, encoding.abs()]
    return tiles


def mixtures(scheme: RecipeEncoder, secret: MixingSecret, public: Samples | None) -> Float[Tensor, "m c h w"]:
    """Give what the rows were before noise and mask: Σ_j λ_rj x_{s_rj}."""
    out = torch.empty(len(secret.sources), *secret.private.shape)
    recipe = Recipe(scheme, secret.sources, secret.weights, secret.public_sources)
    blender(secret.private, public, moves=secret.transforms is not None)(out, recipe, None, secret.transforms)
    return out


def _rows_of_faces(secret: MixingSecret) -> list[int]:
    """Find the rows whose heaviest private image is one of the first class: a face."""
    heaviest = secret.weights[:, : secret.sources.shape[1]].argmax(1, keepdim=True)
    classes = secret.private.labels[secret.sources.gather(1, heaviest)[:, 0]].argmax(1)
    return (classes == 0).nonzero()[:, 0].tolist()
