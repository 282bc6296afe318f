"""A SuperLink, told what to do: which nodes it knows, which app it runs, and how far that is."""

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from flwr.cli.build import build_fab_from_disk
from flwr.common.serde import fab_to_proto
from flwr.proto.control_pb2 import ListNodesRequest, ListRunsRequest, RegisterNodeRequest, StartRunRequest
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import ApiErrorCode, FlowerError
from flwr.supercore.fab import Fab
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from hideseek.errors import BadInput


@dataclass(frozen=True)
class Control:
    """A connection to a SuperLink by which it is controlled, as the commands of `flwr` do."""

    client: ControlHttpClient

    @classmethod
    def of(cls, address: str, authority: Path) -> Self:
        """Connect; the SuperLink must show a certificate of this authority."""
        version = RuntimeVersionHttpInterceptor(component_name="flwr CLI")
        made = ControlHttpClient.from_server_address(
            server_address=address, insecure=False, root_certificates=authority.read_bytes(), interceptors=[version]
        )
        return cls(made)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()

    def register(self, public_key: Path) -> None:
        """Make a node's key known; one that is known already stays so."""
        key = load_ssh_public_key(public_key.read_bytes())
        try:
            self.client.RegisterNode(RegisterNodeRequest(public_key=public_key_to_bytes(key)))  # type: ignore[arg-type]
        except httpx.HTTPStatusError as error:
            found = FlowerError.from_json(error.response.text)
            if found is None or found.code != ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
                raise BadInput(f"{public_key} could not be registered: {error.response.text}") from None

    def nodes(self) -> dict[int, str]:
        """Give the nodes that the SuperLink knows, and whether each is registered, online or offline."""
        return {int(each.node_id): str(each.status) for each in self.client.ListNodes(ListNodesRequest()).nodes_info}

    def start(self, app: Path) -> int:
        """Hand over an app, and give the number of its run."""
        content = _bundle(app)
        fab = Fab(hashlib.sha256(content).hexdigest(), content, {})
        try:
            return int(self.client.StartRun(StartRunRequest(fab=fab_to_proto(fab))).run_id)
        except httpx.HTTPStatusError as error:
            raise BadInput(f"the run could not be started: {error.response.text}") from None

    def status(self, run: int) -> str:
        """Give how far a run is: pending, starting, running, or finished and how."""
        found = self.client.ListRuns(ListRunsRequest(run_id=run)).run_dict[run].status
        return f"{found.status}:{found.sub_status}" if found.sub_status else str(found.status)

    def details(self, run: int) -> str:
        """Give what a run says of its end."""
        return str(self.client.ListRuns(ListRunsRequest(run_id=run)).run_dict[run].status.details)


def app_digest(app: Path) -> str:
    """Give the checksum of an app as nodes see it: of the bundle that Flower makes of it."""
    return hashlib.sha256(_bundle(app)).hexdigest()


def _bundle(app: Path) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Flower's own code
        return build_fab_from_disk(app)
