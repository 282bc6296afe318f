"""A federation as a folder: the Flower project, the server's files, and a folder for each node, outside of the app."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.certificates import AUTHORITY, write_certificates, write_node_key
from hideseek.federate.party import Part, PartySettings, load_party
from hideseek.federate.policy import template
from hideseek.federate.server import ServerSettings
from hideseek.federate.settings_files import KEPT, NODE, POLICY, SERVER, write_node, write_server, written
from hideseek.files import new_file, new_folder
from hideseek.hide.updates import ShareUpdates

APP, PACKAGE, SERVED, OUT = "app", "federation", "server", "out"
RUN = "run.sh"
COHORT = 10  # images that a message is of at least, as hospitals ask for
AGAIN = 3  # rounds that may be asked for again, after an interruption: each is an update of its own
PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "hideseek-federation"
version = "1.0.0"
description = "A federation of hideseek's: its apps are installed with hideseek, and nothing else is."
license = "MIT"
dependencies = []

[tool.hatch.build.targets.wheel]
packages = ["{package}"]

[tool.flwr.app]
publisher = "hideseek"

[tool.flwr.app.components]
serverapp = "{package}.server_app:app"
clientapp = "{package}.client_app:app"

[tool.flwr.app.config]
# The server's own settings, on the machine of the SuperLink.
server = {server}
"""
FILES = {
    "__init__.py": '"""The apps of a federation."""\n',
    "client_app.py": "from hideseek.federate.flower.deployed import client_app\n\napp = client_app()\n",
    "server_app.py": "from hideseek.federate.flower.deployed import server_app\n\napp = server_app(__file__)\n",
}
SCRIPT = """#!/bin/sh
# Starts a SuperLink and the nodes, runs the federation, and stops all of them at the end, however that comes about.
exec {python} -m hideseek federate run "$(dirname "$0")" "$@"
"""


@dataclass(frozen=True)
class Project:
    """A federation to be written."""

    agreement: Agreement
    scheme: str
    """As a person names it, for the policies."""
    settings: ServerSettings
    data: Sequence[str]
    """The images of every node; one address alone is dealt out."""
    nodes: int = 2
    alpha: float | None = None
    test: str | None = None
    hosts: Sequence[str] = ("localhost", "127.0.0.1")
    """Names and addresses of the machine that the SuperLink runs on."""
    cohort: int = COHORT
    """The fewest images that policies let an update, or encodings, be of; fewer, where fewer are planned."""

    def parties(self) -> list[tuple[str, Part | None]]:
        """Give the address of every node's images, and the part of them that it has."""
        if len(self.data) == 1:
            return [(self.data[0], Part(place, self.nodes, self.alpha)) for place in range(self.nodes)]
        if self.alpha is not None:
            raise BadInput("images of several addresses are not dealt out: leave the Dirichlet split away.")
        return [(each, None) for each in self.data]

    def write(self, folder: Path, digest: Callable[[Path], str]) -> list[int]:
        """Write all of it, and give the cohort of every node's policy.

        `digest` gives the checksum of the app, which the policies then allow.
        """
        parties = self.parties()
        cohorts = []
        for place, (address, part) in enumerate(parties):
            party = load_party(PartySettings(address, folder / _node(place) / KEPT, part), self.agreement)
            check_enough(len(party.private), self.agreement)
            cohorts.append(min(self.cohort, planned_images(len(party.private), self.agreement)))
        with new_folder(folder, 0o700) as made:
            self._write_app(made / APP, folder)
            test = None if self.test is None else absolute(self.test)
            _text(made / SERVED / SERVER, write_server(self.settings, test))
            write_certificates(made / SERVED, self.hosts)
            allowed = digest(made / APP)
            for place, (address, part) in enumerate(parties):
                self._write_node(made / _node(place), address, part, allowed, cohorts[place])
                _text(made / _node(place) / AUTHORITY, (made / SERVED / AUTHORITY).read_text("ascii"))
            _text(made / RUN, SCRIPT.format(python=shlex.quote(sys.executable)), 0o777)
        return cohorts

    def _write_app(self, app: Path, folder: Path) -> None:
        place = folder.resolve() / SERVED / SERVER
        _text(app / "pyproject.toml", PYPROJECT.format(package=PACKAGE, server=written(str(place))))
        for name, text in FILES.items():
            _text(app / PACKAGE / name, text)
        _text(app / PACKAGE / "agreement.json", self.agreement.to_json() + "\n")

    def _write_node(self, node: Path, address: str, part: Part | None, allowed: str, cohort: int) -> None:
        node.mkdir(0o700, parents=True)
        write_node_key(node)
        _text(node / NODE, write_node(absolute(address), part, self.settings.record), 0o600)
        rounds = self.agreement.rounds if self.agreement.protocol == "gradients" or self.agreement.again else 1
        rounds += AGAIN if self.agreement.protocol == "gradients" else 0
        policy = template(self.agreement, self.scheme, rounds, cohort)
        _text(node / POLICY, policy.replace("\napps = []\n", f'\napps = ["{allowed}"]\n'), 0o600)


def check_enough(images: int, agreement: Agreement) -> None:
    """Refuse a party that has fewer images than the scheme mixes; it would say so in a log of its own."""
    scheme = agreement.encoding
    needed = int(getattr(scheme, "k_private", None) or getattr(scheme, "k", 1) or 1)
    if images < needed:
        raise BadInput(
            f"a party has {images} images, and the scheme mixes {needed} of them: take fewer parties, a smaller k, or a"
            " larger --alpha."
        )


def planned_images(images: int, agreement: Agreement) -> int:
    """Give of how many images a message of a party with so many is: an update of one round, or all encodings."""
    scheme = agreement.scheme
    return min(images, scheme.work.images) if isinstance(scheme, ShareUpdates) else images


def absolute(address: str) -> str:
    """Give an address that means the same in every folder.

    >>> absolute("faces"), absolute("npz:/data/a.npz?split=test")
    ('faces', 'npz:/data/a.npz?split=test')
    """
    kind, found, path = address.partition(":")
    return f"{kind}:{Path(path).expanduser().absolute()}" if found and kind in ("folder", "dicom", "npz") else address


def _node(place: int) -> str:
    return f"node-{place + 1}"


def _text(path: Path, text: str, mode: int = 0o666) -> None:
    with new_file(path, mode) as file:
        file.write(text.encode())
