"""Train two models, in as many processes as torchrun has started, and write them."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import toys
from hideseek.hide import InstaHide
from hideseek.learn import learn
from hideseek.models.place import here
from hideseek.models.trained import write_model
from hideseek.models.training import SGD, Training
from hideseek.randomness import seeded

if __name__ == "__main__":
    torch.set_num_threads(1)
    for kind, encoder in (("vanilla", None), ("instahide", InstaHide())):
        private = toys.patterns(60)
        training = replace(Training(2, 20, SGD(0.05)))
        learnt = learn(private, "convnet", training, encoder=encoder, chance=seeded(3))
        if here().first:
            write_model(Path(sys.argv[1]) / kind, learnt.trained)
