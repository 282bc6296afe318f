"""Learning: train on what was hidden, and ask what was trained."""

from hideseek.learn.inference import accuracy, predict
from hideseek.learn.private_sgd import PrivateSGD
from hideseek.learn.train import Learnt, RunFolder, learn, suited

__all__ = ["Learnt", "PrivateSGD", "RunFolder", "accuracy", "learn", "predict", "suited"]
