"""A client that answers two kinds of questions: plain ones as any Flower app would, and those of hideseek's server."""

from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.query("plain")
def plain(message: Message, context: Context) -> Message:
    """Send the bytes of a file as an array, and do nothing else."""
    path = str(message.content.config_records["config"]["path"])
    array = Array(np.fromfile(path, np.uint8))
    return Message(RecordDict({"arrays": ArrayRecord({"bytes": array})}), reply_to=message)


def ours(message: Message, context: Context) -> Message:
    """Answer as a party does, behind its gate; what is not needed for plain messages is imported here."""
    from hideseek.federate.flower.apps import client_app
    from hideseek.federate.party import PartySettings

    settings = PartySettings(str(context.node_config["data"]), Path(str(context.node_config["folder"])))
    return client_app(lambda _: settings)(message, context)


for kind in ("describe", "shard"):
    app.query(kind)(ours)
