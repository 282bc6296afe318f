"""The options of a gate in CI, for every verb that ends in audits: what must not be found, and files that CI reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from hideseek.cli.mistakes import Finding
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.records.result import Result
from hideseek.report import sentences
from hideseek.report.gate import FailOn, gate
from hideseek.report.junit import write_junit
from hideseek.report.sarif import SCHEMA, write_sarif

ASKED = "--fail-on"
HEAD = 1 << 10  # bytes by which a file of findings is known
MORE = "give the audit more time (--budget), or name the attacks to rely on (--attacks)"


@dataclass(frozen=True)
class Gate:
    """A gate in CI."""

    fail_on: Annotated[FailOn | None, arg(metavar="broken|leaks", help_behavior_hint="")] = None
    """End with 2 if this or worse is found, with 1 on any error, or if an attack failed, was withheld or not tried."""
    sarif: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write findings as SARIF 2.1.0, for code hosts."""
    junit: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write attacks as JUnit's XML, for CI systems."""

    @property
    def asked(self) -> list[str]:
        """Name the options that were given."""
        given = {ASKED: self.fail_on, "--sarif": self.sarif, "--junit": self.junit}
        return [name for name, value in given.items() if value is not None]

    def check(self) -> None:
        """Refuse, before anything is computed, files that cannot be written at the end."""
        for path in (self.sarif, self.junit):
            if path is not None and path.is_symlink():
                raise BadInput(f"{path} is a link, and links are not followed: name a file to write.")
            if path is not None and path.exists() and not (path.is_file() and _is_earlier(path)):
                raise BadInput(f"{path} exists already, and is no file of findings: choose another name.")
        if self.sarif is not None and self.sarif == self.junit:
            raise BadInput(f"{self.sarif} cannot be SARIF and JUnit's XML: name two files.")

    def refuse(self, why: str) -> None:
        """Refuse to be a gate where nothing is judged."""
        if self.asked:
            raise BadInput(f"{why}: leave {self.asked[0]} out.")

    def finish(self, results: Sequence[Result]) -> None:
        """Write the files, and end with an error where the gate does not pass."""
        if self.sarif is not None:
            write_sarif(results, self.sarif)
            say(f"SARIF:        {self.sarif.resolve()}")
        if self.junit is not None:
            write_junit(results, self.junit, self.fail_on or "leaks")
            say(f"JUnit:        {self.junit.resolve()}")
        if self.fail_on is None:
            return
        state = gate(results, self.fail_on)
        if state.found:
            raise Finding(f"the gate {ASKED} {self.fail_on} does not pass: {sentences.gate_found(state)}.")
        if state.open or state.unjudged:
            said = sentences.gate_open(state)
            raise BadInput(f"the gate {ASKED} {self.fail_on} cannot be judged: {said}; {MORE}.")
        say(f"The gate {ASKED} {self.fail_on} passes: every attack that applies ran, and found less.")


def _is_earlier(path: Path) -> bool:
    """Tell whether a file is of an earlier audit, which may be replaced."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    return SCHEMA.encode() in head or b"<testsuites" in head
