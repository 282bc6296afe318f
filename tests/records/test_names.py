"""Mechanisms and claims are known by names, and no two by one."""

from dataclasses import dataclass

import pytest

from hideseek.hide import Mixup
from hideseek.records import Claim


def test_a_name_is_given_once() -> None:
    with pytest.raises(TypeError, match="a mechanism called 'mixup' already"):

        class Other(Mixup, mechanism="mixup"):
            pass

    with pytest.raises(TypeError, match="a claim called 'links' already"):

        @dataclass(frozen=True)
        class Others(Claim, name="links"):
            pass
