"""What every process of Flower is started with: nothing is sent to Flower's makers, and nothing is installed."""

import os
import secrets
import socket
import sys
from pathlib import Path

from hideseek.errors import BadInput

FIXED = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_TRACING_ENABLED": "0",
}
LAST = 65_535  # of all ports
LOWEST, PORTS = 20_000, 12_000  # below those of outgoing connections, 32768 and more
POLL = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"


def environment(home: Path) -> dict[str, str]:
    """Give the variables that differ from ours: Flower's home, what is off, and where its commands are."""
    commands = str(Path(sys.executable).parent)
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {
        **FIXED,
        POLL: os.environ.get(POLL, "0.3"),
        "FLWR_HOME": str(home.resolve()),
        "PATH": os.pathsep.join([commands, *(each for each in paths if each != commands)]),
        "PYTHONUNBUFFERED": "1",
    }


def free_port(host: str = "127.0.0.1") -> int:
    """Give a port that nobody listens on, of those that the system does not give away by itself meanwhile."""
    while is_taken(port := LOWEST + secrets.randbelow(PORTS), host):
        pass
    return port


def is_taken(port: int, host: str = "127.0.0.1") -> bool:
    """Tell whether somebody listens on a port."""
    if not 0 < port <= LAST:
        raise BadInput(f"there is no port {port}: choose one of 1 to {LAST}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
