"""Hiding: what a release is made by. A new scheme is one file and one line here."""

from hideseek.hide.augmented import Augmented
from hideseek.hide.encoder import MixingEncoder
from hideseek.hide.geometry import Geometry
from hideseek.hide.instahide import InstaHide, PairInstaHide
from hideseek.hide.mixup import Mixup
from hideseek.hide.noise import Laplace
from hideseek.hide.singularized_mixup import SingularizedMixup

ENCODERS: dict[str, MixingEncoder] = {
    "mixup": Mixup(),
    "mixup-cross": Mixup(k=4, k_private=1),  # InstaHide §2.2: one private image among public ones
    "instahide-inside": InstaHide(k=4),
    "instahide-cross": InstaHide(k=4, k_private=2),
    "instahide-pair": PairInstaHide(),
    "laplace": Laplace(),
    "singularized-mixup": SingularizedMixup(),
    # "Evaluating gradient inversion attacks and defenses" (Huang et al. 2021), A.3: the same mechanisms, its settings.
    "intra-instahide": InstaHide(k=4, largest=0.65),
    "intra-instahide-6": InstaHide(k=6, largest=0.65),
    "intra-mixup": Mixup(k=4, largest=0.65),
    "intra-mixup-6": Mixup(k=6, largest=0.65),
}

__all__ = [
    "ENCODERS",
    "Augmented",
    "Geometry",
    "InstaHide",
    "Laplace",
    "MixingEncoder",
    "Mixup",
    "PairInstaHide",
    "SingularizedMixup",
]
