"""The SuperLink of a federation: Flower's own, over TLS, with nodes that sign in, controlled from its machine alone.

Flower serves nodes and those who control it on one port, and asks the latter for nothing: who reaches the port could
make a key of his own known, or start an app. Here other machines are answered where they are nodes alone.
"""

import importlib
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.certificates import AUTHORITY, SERVER, SERVER_KEY
from hideseek.federate.flower.busy import ask_again, start_late
from hideseek.federate.flower.environment import environment, is_taken
from hideseek.files import new_file

HOME, DATABASE = "flower", "superlink.db"
CONFIG = """[superlink]
default = "federation"

[superlink.federation]
address = "{address}"
root-certificates = "{authority}"
"""
OF_NODES = "/v1/fleet/"
REFUSED = b"this is answered on the machine of the SuperLink alone"
MOVED = "this version of Flower is put together in another way, and cannot be closed to others: use Flower 1.41."

Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Any, Any], Awaitable[None]]


@dataclass(frozen=True)
class SuperLink:
    """A SuperLink: the server's folder, and where it listens."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 9092

    def start(self) -> None:
        """Run it until it is stopped."""
        for name in (AUTHORITY, SERVER, SERVER_KEY):
            if not (self.folder / name).is_file():
                raise BadInput(f"{self.folder / name} is missing: name the server's folder of a federation.")
        if is_taken(self.port, self.host):
            raise BadInput(f"the port {self.port} of {self.host} is taken, or not of this machine: choose another one.")
        os.environ.update(environment(self.folder / HOME))
        with new_file(self.folder / HOME / "config.toml") as file:  # for the commands of `flwr`, on this machine
            here = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 (what the user asked for)
            authority = (self.folder / AUTHORITY).resolve()
            file.write(CONFIG.format(address=f"{here}:{self.port}", authority=authority).encode())
        close_to_others()
        start_late()
        from flwr.superlink.cli import flower_superlink

        sys.argv = ["flower-superlink", *self.arguments()]
        flower_superlink()

    def arguments(self) -> list[str]:
        """Give the command line of Flower's SuperLink: TLS, nodes that sign in, and nothing installed."""
        folder = self.folder.resolve()
        return [
            "--host", self.host, "--port", str(self.port), "--enable-supernode-auth",
            "--ssl-ca-certfile", str(folder / AUTHORITY), "--ssl-certfile", str(folder / SERVER),
            "--ssl-keyfile", str(folder / SERVER_KEY), "--database", str(folder / DATABASE),
            "--disable-runtime-dependency-installation",
        ]  # fmt: skip


def close_to_others() -> None:
    """Let a SuperLink of this process answer other machines where they are nodes alone, or refuse."""
    try:
        flower: Any = importlib.import_module("flwr.superlink.main")
        command: Any = importlib.import_module("flwr.superlink.cli.flower_superlink")
    except ImportError:
        raise BadInput(MOVED) from None
    make, serve = getattr(flower, "create_app", None), getattr(command, "_run_superlink_http_api", None)
    if make is None or serve is None or "create_app" not in serve.__code__.co_names + serve.__code__.co_varnames:
        raise BadInput(MOVED)

    def closed(*given: Any, **named: Any) -> Any:
        app = make(*given, **named)
        app.add_middleware(OnlyNodes)  # the outermost
        ask_again(app)
        return app

    flower.create_app = closed


@dataclass(frozen=True)
class OnlyNodes:
    """Answers requests of this machine, and of others those of nodes, whose signatures Flower then checks."""

    app: Asgi

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and not (str(scope["path"]).startswith(OF_NODES) or is_own(scope)):
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": REFUSED})
            return
        await self.app(scope, receive, send)


def is_own(scope: Scope) -> bool:
    """Tell whether a request comes from the machine that answers it.

    >>> is_own({"client": ("127.0.0.1", 5), "server": ("127.0.0.1", 9)}), is_own({"client": ("10.0.0.7", 5)})
    (True, False)
    """
    client, server = scope.get("client"), scope.get("server")
    if not client:
        return False
    try:
        return ip_address(client[0]).is_loopback or bool(server and client[0] == server[0])
    except ValueError:
        return False
