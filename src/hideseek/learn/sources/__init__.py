"""What a network learns from, as values: plain samples, samples encoded anew every epoch, samples under DP-SGD."""

from hideseek.learn.sources.base import Source, Wrapped, suited
from hideseek.learn.sources.defended import Defended
from hideseek.learn.sources.plain import Plain
from hideseek.learn.sources.private import Private
from hideseek.learn.sources.reencoded import Reencoded

__all__ = ["Defended", "Plain", "Private", "Reencoded", "Source", "Wrapped", "suited"]
