"""A client that answers two kinds of questions: plain ones as any Flower app would, and those of hideseek's server."""

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
    """Answer as a party does; what is not needed for plain messages is imported here."""
    from hideseek.federate.flower.deployed import client_app

    return client_app()(message, context)


for kind in ("describe", "shard"):
    app.query(kind)(ours)
