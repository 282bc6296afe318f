from pathlib import Path

import pytest

from hideseek.records.result import Result
from report.results import sample


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return sample(tmp_path)
