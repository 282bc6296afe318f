"""Tests that take minutes, and repeat in the whole what others test in parts: run by hand, before a release.

`make long` (CONTRIBUTING.md), or HIDESEEK_LONG_TESTS=1 python -m pytest
"""

import os

import pytest

LONG = pytest.mark.skipif(
    os.environ.get("HIDESEEK_LONG_TESTS") != "1", reason="minutes long: set HIDESEEK_LONG_TESTS=1"
)
