"""The ClientApp and the ServerApp: Flower's side of a party and of the server."""

from collections.abc import Callable
from typing import Any

from flwr.app import Context, Error
from flwr.app import Message as FlowerMessage
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from hideseek.federate.client import ANSWERS, answer
from hideseek.federate.encodings import run_encodings
from hideseek.federate.flower.gate_mod import REFUSED, gate_mod
from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.flower.records import content, plain
from hideseek.federate.flower.strategies import FlowerAggregate
from hideseek.federate.gradients import run_gradients
from hideseek.federate.party import Differs, PartySettings
from hideseek.federate.received_model import MaliciousModel
from hideseek.federate.server import Server


def client_app(settings_of: Callable[[Context], PartySettings]) -> ClientApp:
    """Give the app of a party, whose settings the node knows, behind its gate."""
    app = ClientApp(mods=[gate_mod(settings_of)])

    def reply(message: FlowerMessage, context: Context) -> FlowerMessage:
        try:
            answered = answer(plain(message), settings_of(context))
        except (Differs, MaliciousModel) as mistake:  # sentences that name nothing of the party's own
            return FlowerMessage(Error(REFUSED, str(mistake)), reply_to=message)
        return FlowerMessage(content(answered), reply_to=message)

    for kind in ANSWERS:
        category, _, action = kind.partition(".")
        register: Any = getattr(app, category)
        (register(action) if action else register())(reply)
    return app


def server_app(server_of: Callable[[Context, FlowerParties], Server]) -> ServerApp:
    """Give the app of a server."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        serve(server_of(context, FlowerParties(grid)))

    return app


def serve(server: Server) -> None:
    """Run a federation to its end, by its protocol."""
    if server.agreement.protocol == "gradients":
        run_gradients(server, FlowerAggregate(server.settings.strategy))
    else:
        run_encodings(server)
