"""A SuperLink, told what to do: which nodes it knows, which app it runs, and how far that is."""

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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
from hideseek.federate.flower.busy import asked_again, is_busy


@dataclass(frozen=True)
class Control:
    """A connection to a SuperLink by which it is controlled, as commands of `flwr` do; if busy, it is asked again."""

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
        request = RegisterNodeRequest(public_key=public_key_to_bytes(key))  # type: ignore[arg-type]
        try:
            asked_again(lambda: self.client.RegisterNode(request))
        except httpx.HTTPStatusError as error:
            found = FlowerError.from_json(error.response.text)
            if found is None or found.code != ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
                raise BadInput(f"{public_key} could not be registered: {error.response.text}") from None

    def nodes(self) -> dict[int, str]:
        """Give the nodes that the SuperLink knows, and whether each is registered, online or offline."""
        found = asked_again(lambda: self.client.ListNodes(ListNodesRequest()))
        return {int(each.node_id): str(each.status) for each in found.nodes_info}

    def start(self, app: Path) -> int:
        """Hand over an app, and give the number of its run; one that was started without an answer is found."""
        content = _bundle(app)
        request = StartRunRequest(fab=fab_to_proto(Fab(hashlib.sha256(content).hexdigest(), content, {})))
        before = self.runs()

        def once() -> int:
            try:
                return int(self.client.StartRun(request).run_id)
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                if is_busy(error) and (new := self.runs() - before):
                    return max(new)
                raise

        try:
            return asked_again(once)
        except httpx.HTTPStatusError as error:
            raise BadInput(f"the run could not be started: {error.response.text}") from None

    def runs(self) -> set[int]:
        """Give the numbers of all runs."""
        return {int(each) for each in asked_again(lambda: self.client.ListRuns(ListRunsRequest())).run_dict}

    def status(self, run: int) -> str:
        """Give how far a run is: pending, starting, running, or finished and how."""
        found = self._status(run)
        return f"{found.status}:{found.sub_status}" if found.sub_status else str(found.status)

    def details(self, run: int) -> str:
        """Give what a run says of its end."""
        return str(self._status(run).details)

    def _status(self, run: int) -> Any:
        return asked_again(lambda: self.client.ListRuns(ListRunsRequest(run_id=run))).run_dict[run].status


def app_digest(app: Path) -> str:
    """Give the checksum of an app as nodes see it: of the bundle that Flower makes of it."""
    return hashlib.sha256(_bundle(app)).hexdigest()


def _bundle(app: Path) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Flower's own code
        return build_fab_from_disk(app)
