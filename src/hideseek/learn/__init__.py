"""Learning: train on what was hidden, and ask what was trained."""

from hideseek.learn.closed_form import class_means
from hideseek.learn.inference import accuracy, largest_class, predict
from hideseek.learn.noisy_sums import NoisySums
from hideseek.learn.private_sgd import PrivateSGD
from hideseek.learn.run import Learnt, learn
from hideseek.learn.run_folder import RunFolder
from hideseek.learn.sources import Defended, Plain, Private, Reencoded, Source, suited

__all__ = [
    "Defended",
    "Learnt",
    "NoisySums",
    "Plain",
    "Private",
    "PrivateSGD",
    "Reencoded",
    "RunFolder",
    "Source",
    "accuracy",
    "class_means",
    "largest_class",
    "learn",
    "predict",
    "suited",
]
