"""A SuperLink that other machines reach as nodes alone, and what its command says when it cannot start."""

import asyncio
import importlib
import socket
from pathlib import Path
from typing import Any

import pytest

from hideseek.cli import main
from hideseek.errors import BadInput
from hideseek.federate.certificates import write_certificates

pytest.importorskip("flwr")
from hideseek.federate.flower.busy import AskAgain
from hideseek.federate.flower.superlink import OnlyNodes, SuperLink, close_to_others


def status(path: str, client: str, server: str = "10.0.0.1") -> int:
    """Ask as a machine of this address, and give the status of the answer; 200 where it was passed on."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "client": (client, 5555), "server": (server, 9092)}
    asyncio.run(OnlyNodes(app)(scope, None, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize("client", ["10.0.0.7", "192.168.1.2", "2001:db8::1", "not an address"])
@pytest.mark.parametrize(
    "path", ["/v1/control/register-node", "/v1/control/start-run", "/v1/runtime/acquire-task", "/"]
)
def test_other_machines_do_not_control_it(path: str, client: str) -> None:
    assert status(path, client) == 403


@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "10.0.0.1"])
def test_its_own_machine_does(client: str) -> None:
    assert status("/v1/control/start-run", client) == 200


def test_nodes_of_other_machines_are_passed_on_to_flower() -> None:
    assert status("/v1/fleet/pull-messages", "10.0.0.7") == 200


def test_the_app_that_flower_serves_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    flower: Any = importlib.import_module("flwr.superlink.main")
    monkeypatch.setattr(flower, "create_app", flower.create_app)  # put back at the end
    close_to_others()
    app = flower.create_app()
    assert app.user_middleware[0].cls is OnlyNodes  # the outermost
    assert AskAgain in [each.cls for each in app.user_middleware]


def test_it_does_not_start_where_it_cannot_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    command: Any = importlib.import_module("flwr.superlink.cli.flower_superlink")
    monkeypatch.setattr(command, "_run_superlink_http_api", lambda lifespan_config: None)
    with pytest.raises(BadInput, match="cannot be closed"):
        close_to_others()


def test_a_port_that_is_taken_and_a_folder_without_certificates_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadInput, match=r"ca\.crt is missing"):
        SuperLink(tmp_path).start()
    write_certificates(tmp_path, ["localhost", "127.0.0.1"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["federate", "superlink", str(tmp_path), "--port", port]) == 1
        assert f"the port {port} of 127.0.0.1 is taken" in capsys.readouterr().err
