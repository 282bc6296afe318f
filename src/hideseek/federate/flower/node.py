"""The SuperNode of a party: Flower's own, whose connection to the SuperLink goes through the gate of its owner.

Apps run in processes of their own, and reach the SuperLink through the SuperNode alone; the gate is in the SuperNode's
process, where no app can change it. It is placed around functions of Flower's that are not public: where these are not
what they are known to be, the node does not start.
"""

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.certificates import AUTHORITY, NODE_KEY
from hideseek.federate.flower import executor
from hideseek.federate.flower.busy import start_late
from hideseek.federate.flower.coming_back import try_again_for_a_while
from hideseek.federate.flower.environment import LAST, environment, free_port
from hideseek.federate.flower.gate_mod import GATED
from hideseek.federate.flower.gated_connection import MOVED, Connection, GatedConnection
from hideseek.federate.party import PartySettings
from hideseek.federate.policy import Policy
from hideseek.federate.settings_files import NODE, read_node

HOME = "flower"  # the folder, in a node's own, where Flower keeps what it needs
CONNECTED = ("server_address", "insecure", "root_certificates", "authentication_keys", "max_retries", "max_wait_time")


@dataclass(frozen=True)
class Node:
    """A party's node: its folder, and the SuperLink that it connects to."""

    folder: Path
    superlink: str

    def start(self) -> None:
        """Run the node until it is stopped; it does not return while it is connected."""
        settings = self.checked()
        os.environ.update(environment(self.folder / HOME))
        place_gate(settings)
        try_again_for_a_while()
        start_late()
        from flwr.supernode.cli.flower_supernode import flower_supernode

        port = free_port()
        start_apps(port)
        sys.argv = ["flower-supernode", *self.arguments(port)]
        code = 1  # where it returns, the connection is lost for good
        try:
            flower_supernode()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()  # nobody else will say it
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # a thread of Flower's would keep the process

    def checked(self) -> PartySettings:
        """Read settings and policy, and see that keys are there, before anything is started."""
        if not (self.folder / NODE).is_file():
            raise BadInput(f"{self.folder} is no folder of a node: it has no {NODE}.")
        host, _, port = self.superlink.rpartition(":")
        if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) <= LAST):
            raise BadInput(
                f"{self.superlink!r} is no address of a SuperLink: write HOST:PORT, as server.example.org:9092."
            )
        settings = read_node(self.folder.resolve())
        assert settings.policy is not None  # noqa: S101 (always beside it)
        Policy.read(settings.policy)
        for name in (NODE_KEY, AUTHORITY):
            if not (self.folder / name).is_file():
                raise BadInput(f"{self.folder / name} is missing: without it the node cannot sign in.")
        if (self.folder / NODE_KEY).stat().st_mode & 0o077:
            raise BadInput(f"others may read {self.folder / NODE_KEY}: chmod 600 it.")
        return settings

    def arguments(self, port: int) -> list[str]:
        """Give the command line of Flower's SuperNode, whose apps reach it by this port."""
        folder = self.folder.resolve()
        return [
            "--superlink", self.superlink, "--root-certificates", str(folder / AUTHORITY),
            "--auth-supernode-private-key", str(folder / NODE_KEY), "--host", "127.0.0.1", "--port", str(port),
            "--isolation", "process", "--node-config", f"folder={_quoted(str(folder))} {GATED}=true",
        ]  # fmt: skip


def start_apps(port: int) -> None:
    """Fork what starts the apps: most of what they need is imported here already; it ends with this process."""
    parent = os.getpid()
    if os.fork():
        return
    address = f"127.0.0.1:{port}"
    sys.argv = [
        "flower-superexec", "--insecure", "--runtime-api-address", address, "--parent-pid", str(parent)
    ]  # fmt: skip
    executor.end_with(executor.main, "apps cannot be started")


def place_gate(settings: PartySettings) -> None:
    """Put the gate around the connection that a SuperNode of this process makes, or refuse."""
    try:
        flower: Any = importlib.import_module("flwr.supernode.start_client_internal")
        command = importlib.import_module("flwr.supernode.cli.flower_supernode")
    except ImportError:
        raise BadInput(MOVED) from None
    connect: Any = getattr(flower, "_init_connection", None)
    loop: Any = getattr(flower, "start_client_internal", None)
    names = getattr(getattr(loop, "__code__", None), "co_names", ())
    if (
        connect is None
        or loop is None
        or getattr(command, "start_client_internal", None) is not loop
        or tuple(inspect.signature(connect).parameters) != CONNECTED
        or "_init_connection" not in names
        or "http_request_response" in names
    ):
        raise BadInput(MOVED)

    @contextmanager
    def gated(*given: Any, **named: Any) -> Iterator[tuple[Any, ...]]:
        with connect(*given, **named) as made:
            try:
                connection = GatedConnection(Connection.checked(made), settings)
            except BadInput as mistake:
                sys.exit(f"hideseek: {mistake}")  # Flower would log anything else, and go on
            yield connection.functions()

    flower._init_connection = gated


def _quoted(text: str) -> str:
    """Write a text as Flower's configuration wants it."""
    if '"' in text or "\\" in text or "\n" in text:
        raise BadInput(f"{text!r} holds characters that Flower cannot pass on: choose another folder.")
    return f'"{text}"'
