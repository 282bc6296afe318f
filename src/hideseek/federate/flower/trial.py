"""A federation of real processes on one machine: a SuperLink, its nodes, a run, and nothing of them left at the end."""

import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.federate.certificates import AUTHORITY, NODE_PUBLIC
from hideseek.federate.flower.control import Control
from hideseek.federate.flower.environment import environment, free_port, is_taken
from hideseek.federate.flower.processes import Processes
from hideseek.federate.flower.superlink import HOME
from hideseek.federate.metrics import lines, read_metrics
from hideseek.federate.project import APP, SERVED
from hideseek.federate.server import read_refused
from hideseek.federate.settings_files import NODE, read_server
from hideseek.federate.settings_files import SERVER as SERVER_SETTINGS
from hideseek.files import locked

HOST = "127.0.0.1"
HIDESEEK = (sys.executable, "-m", "hideseek", "federate")
LOG, NODE_LOG = "superlink.log", "node.log"
ONLINE = "online"  # in Flower's words
LONGEST = 300.0  # seconds until a SuperLink answers, or nodes are connected: machines may be busy


@dataclass(frozen=True)
class Trial:
    """A folder that `hideseek federate init` wrote, and the port of its SuperLink."""

    folder: Path
    port: int
    host: str = HOST

    @classmethod
    def of(cls, folder: Path, port: int | None = None) -> "Trial":
        """Take a folder, and a port; none: one that is free."""
        if not (folder / APP / "pyproject.toml").is_file():
            raise BadInput(f"{folder} is no folder of a federation: write one first.")
        if port is not None and is_taken(port, HOST):
            raise BadInput(f"the port {port} is taken: choose another one, or none.")
        return cls(folder.resolve(), port or free_port(HOST))

    @property
    def server(self) -> Path:
        """Give the server's folder."""
        return self.folder / SERVED

    @property
    def nodes(self) -> list[Path]:
        """Give the folders of the nodes."""
        return sorted(path.parent for path in self.folder.glob(f"*/{NODE}"))

    @property
    def address(self) -> str:
        """Give where the SuperLink listens."""
        return f"{self.host}:{self.port}"

    def processes(self) -> Processes:
        """Give what starts and stops the processes."""
        return Processes(environment(self.server / HOME))

    def superlink(self) -> list[str]:
        """Give the command line of the SuperLink."""
        return [*HIDESEEK, "superlink", str(self.server), "--host", self.host, "--port", str(self.port)]

    def node(self, folder: Path) -> list[str]:
        """Give the command line of a node."""
        return [*HIDESEEK, "node", str(folder), "--superlink", self.address]

    def start_superlink(self, processes: Processes) -> None:
        """Start the SuperLink, and wait until it answers."""
        processes.start("the SuperLink", self.superlink(), self.server / LOG)
        wait_for(lambda: answers(self.host, self.port), processes.check, "the SuperLink does not answer.")

    def start_node(self, processes: Processes, folder: Path) -> None:
        """Start a node."""
        processes.start(folder.name, self.node(folder), folder / NODE_LOG)

    def control(self) -> Control:
        """Give what controls the SuperLink."""
        return Control.of(self.address, self.server / AUTHORITY)

    def run(self, tell: Callable[[str], None]) -> None:
        """Start everything, run the app to its end, and stop everything; a run that fails is a BadInput."""
        with locked(self.server / ".running") as free, self.processes() as processes:
            if not free:
                raise BadInput(f"a federation is running in {self.folder} already: wait for it, or stop it.")
            tell(f"The SuperLink listens on {self.address}; its log is {self.server / LOG}.")
            self.start_superlink(processes)
            with self.control() as control:
                self.start_nodes(control, processes, tell)
                self.follow(control, control.start(self.folder / APP), processes.check, tell)

    def start_nodes(self, control: Control, processes: Processes, tell: Callable[[str], None]) -> None:
        """Start all nodes, and wait until they are connected."""
        for node in self.nodes:
            control.register(node / NODE_PUBLIC)
            self.start_node(processes, node)
            tell(f"{node.name} is started; its log is {node / NODE_LOG}.")
        self.wait_for_nodes(control, processes)

    def wait_for_nodes(self, control: Control, processes: Processes) -> None:
        """Wait until all nodes are connected."""
        wait_for(
            lambda: list(control.nodes().values()).count(ONLINE) >= len(self.nodes),
            processes.check,
            "the nodes do not connect.",
        )

    def follow(self, control: Control, run: int, check: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Tell what the server measures and refuses, until the run ends; one that fails is a BadInput."""
        out = read_server(self.server / SERVER_SETTINGS)[0].out
        before = len(read_metrics(out))
        told = set(told_lines(out, before))
        status = ""
        while not status.startswith("finished"):
            status = control.status(run)
            for sentence in told_lines(out, before):
                if sentence not in told:
                    tell(sentence)
                    told.add(sentence)
            check()
            time.sleep(0.5)
        if status != "finished:completed":
            raise BadInput(f"the run {run} {status}: {control.details(run) or f'see {self.server / LOG}'}")


def told_lines(out: Path, before: int = 0) -> list[str]:
    """Give what the server said so far: what it measured, with the time left by what this run did, and whom it refused.

    So many lines are of runs before this one.
    """
    return lines(read_metrics(out), before) + [
        f"party {each['party']} is refused in round {each['round']}: {each['why']}" for each in read_refused(out)
    ]


def wait_for(done: Callable[[], bool], check: Callable[[], None], complaint: str, longest: float = LONGEST) -> None:
    """Wait until something is so; `check` refuses where it cannot become so any more."""
    until = time.monotonic() + longest
    while not done():
        check()
        if time.monotonic() > until:
            raise BadInput(complaint)
        time.sleep(0.3)


def answers(host: str, port: int) -> bool:
    """Tell whether somebody listens on a port."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
