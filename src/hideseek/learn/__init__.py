"""Learning: train on what was hidden, and ask what was trained."""

from hideseek.learn.inference import accuracy, predict
from hideseek.learn.private_sgd import PrivateSGD
from hideseek.learn.train import Keeping, Learnt, learn, suited

__all__ = ["Keeping", "Learnt", "PrivateSGD", "accuracy", "learn", "predict", "suited"]
