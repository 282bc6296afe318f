"""The gate as a mod of Flower's: put it around any ClientApp, and nothing leaves that its owner does not allow."""

from collections.abc import Callable

from flwr.app import Context, Error
from flwr.app import Message as FlowerMessage
from flwr.clientapp.typing import ClientAppCallable, Mod

from hideseek.errors import BadInput
from hideseek.federate.flower.records import content, plain
from hideseek.federate.gate import Gate
from hideseek.federate.party import PartySettings

REFUSED = 600  # the code of an error that a party sends in place of an answer
FAILED = "the client failed; its own log says why"
GATED = "hideseek-gated"  # of a node's configuration: the SuperNode itself has the gate, and answers pass it there


def gate_mod(settings_of: Callable[[Context], PartySettings]) -> Mod:
    """Give the mod; the node says where its policy is, and the server has no word in it."""

    def mod(message: FlowerMessage, context: Context, call_next: ClientAppCallable) -> FlowerMessage:
        asked, settings = plain(message), settings_of(context)
        try:
            gate = Gate.of(settings, asked)
        except BadInput:
            return FlowerMessage(Error(REFUSED, FAILED), reply_to=message)
        try:
            reply = call_next(message, context)
            answered = plain(reply)
        except Exception as error:  # noqa: BLE001 (whatever an app raises, its text would be sent to the server)
            gate.note(f"not answered: {type(error).__name__}: {error}")
            return FlowerMessage(Error(REFUSED, FAILED), reply_to=message)
        if context.node_config.get(GATED) is True:
            return reply
        passed = gate.passed(asked, answered)
        sent = Error(REFUSED, passed.error) if passed.error else content(passed)  # anew: records may have had more
        return FlowerMessage(sent, reply_to=message)

    return mod
