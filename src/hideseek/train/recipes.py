"""How papers trained, by name."""

from hideseek.train.schedules import Cosine, Steps
from hideseek.train.training import SGD, AdamW, Training

RECIPES: dict[str, Training] = {
    # InstaHide, Table 3. Deviation: it does not say whether images were augmented; the published code does, on CIFAR.
    "instahide-mnist": Training(30, 128, SGD(), Steps((0.5,))),
    "instahide-cifar10": Training(200, 128, SGD(), Steps((0.5, 0.75)), augment=True),
    "instahide-cifar100": Training(200, 128, SGD(), Steps((0.3, 0.6, 0.8), 0.2), augment=True),
    # "Evaluating gradient inversion attacks and defenses", A.1: ×0.1 every 50 of 200 epochs.
    "gradient-inversion": Training(200, 128, SGD(), Steps((0.25, 0.5, 0.75)), augment=True),
    # Singularized Mixup, Appendix E: a classifier on extracted features.
    "singularized-mnist": Training(120, 128, AdamW(), Cosine()),
    "singularized-cifar10": Training(200, 128, AdamW(), Cosine()),
}
