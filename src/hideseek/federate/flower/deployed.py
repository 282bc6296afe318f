"""The apps of a project that `hideseek federate init` wrote: what they need is in files, at the node and the server."""

from logging import INFO
from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.common.logger import log
from flwr.serverapp import ServerApp

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.flower import apps
from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.party import PartySettings
from hideseek.federate.server import Server, load_test
from hideseek.federate.settings_files import read_node, read_server

AGREEMENT = "agreement.json"


def client_app() -> ClientApp:
    """Give the app of a party; the node, not the app, says where its folder is."""
    return apps.client_app(_node)


def server_app(beside: str) -> ServerApp:
    """Give the app of a server; the agreement lies beside the app's file."""
    agreement = Agreement.from_json(Path(beside).with_name(AGREEMENT).read_text("utf-8"))

    def server_of(context: Context, parties: FlowerParties) -> Server:
        settings, test = read_server(Path(str(context.run_config["server"])))
        return Server(agreement, settings, parties, load_test(test, agreement), lambda line: log(INFO, "%s", line))

    return apps.server_app(server_of)


def _node(context: Context) -> PartySettings:
    folder = context.node_config.get("folder")
    if not isinstance(folder, str):
        raise BadInput("this node was not started with a folder of its own: start it with hideseek federate node.")
    return read_node(Path(folder))
