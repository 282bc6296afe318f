"""What the tests of files share."""

from pathlib import Path

import pytest

import toys
from hideseek.chance import secure
from hideseek.hide import ENCODERS
from hideseek.hide.files.release_files import write_release


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release of 40 toy images."""
    write_release(ENCODERS["instahide-inside"], toys.named(40), None, secure(), tmp_path / "out")
    return tmp_path / "out"
