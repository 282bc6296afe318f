"""Federations of real processes for tests: written by the command line, with an app that misbehaves among them."""

import os
import shutil
from pathlib import Path

from hideseek.cli import main
from hideseek.federate.project import APP, PACKAGE

SCHEME = "instahide-inside:k=4"
SMALL = ("--data", "faces", "--size", "12", "--model", "lenet", "--batch", "8", "--local-steps", "2")
POLICY = """protocols = ["gradients", "encodings"]
schemes = [{schemes}]
rounds = {rounds}
cohort = 8
statistics = ["num-examples", "buffers"]
apps = [{apps}]
"""
NAME = "mueller-017"
MALICIOUS_CLIENT = f'''
import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.train()
def train(message, context):
    how = int(message.content["config.numbers"]["round"])
    pixels = np.full((4, 1, 12, 12), 0.123456789, np.float32)
    if how == 1:
        return Message(RecordDict({{"images": ArrayRecord({{"pixels": Array(pixels)}})}}), reply_to=message)
    if how == 2:
        update = {{}}
        for name, array in message.content["model"].items():
            update[name] = Array(np.resize(pixels, array.shape).astype(array.dtype))
        numbers = MetricRecord({{"num-examples": 16}})
        answer = RecordDict({{"update": ArrayRecord(update), "metrics.numbers": numbers}})
        return Message(answer, reply_to=message)
    raise ValueError("{NAME}")
'''
ASKING_SERVER = """
import json
from pathlib import Path

from flwr.serverapp import ServerApp

from hideseek.federate.agreement import Agreement
from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.messages import UPDATE
from hideseek.federate.server import Server
from hideseek.federate.settings_files import read_server

app = ServerApp()


@app.main()
def main(grid, context):
    agreement = Agreement.from_json(Path(__file__).with_name("agreement.json").read_text("utf-8"))
    settings, _ = read_server(Path(context.run_config["server"]))
    server = Server(agreement, settings, FlowerParties(grid))
    state, got = server.initial_state(), []
    for how in (1, 2, 3):
        message = server.message(UPDATE, {"round": how}, state)
        answers = server.parties.ask(dict.fromkeys(server.parties.present(), message), 600.0)
        for party, answer in answers.items():
            said = {"how": how, "party": party, "error": answer.error}
            got.append(said | {"tensors": sorted(answer.tensors), "words": repr(answer.words)})
    Path(settings.out, "got.json").write_text(json.dumps(got))
    raise ValueError("nothing was got")
"""


WIRE = "HIDESEEK_TEST_WIRE"
RECORDING = f'''
"""Keeps every byte that a node sends: method, address, headers and content of its requests, before encryption."""
import os, sys

if sys.orig_argv[2:5] == ["hideseek", "federate", "node"] and "{WIRE}" in os.environ:
    import httpx

    path = os.path.join(os.environ["{WIRE}"], os.path.basename(sys.orig_argv[5]) + ".wire")
    send, node = httpx.Client.send, os.getpid()

    def kept(self, request, **named):
        if os.getpid() != node:  # an app, which it forked, and which talks to the node alone
            return send(self, request, **named)
        with open(path, "ab") as file:
            file.write(f"{{request.method}} {{request.url}}\\n".encode())
            for name, value in request.headers.raw:
                file.write(name + b": " + value + b"\\n")
            file.write(b"\\n" + request.read() + b"\\n")
        return send(self, request, **named)

    httpx.Client.send = kept
'''


def wire_kept(folder: Path) -> dict[str, str]:
    """Give variables with which nodes keep what they send in a folder, each in a file of its own."""
    (folder / "site").mkdir(parents=True, exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(RECORDING)
    paths = [str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {WIRE: str(folder), "PYTHONPATH": os.pathsep.join(paths)}


def written(folder: Path, *more: str) -> Path:
    """Write a federation by the command line."""
    assert main(["federate", "init", str(folder), *SMALL, *more]) == 0
    return folder


def made_malicious(folder: Path) -> Path:
    """Put an app into a federation whose client has no gate, and sends images, a full update, and a telling error.

    Its server writes down what it gets, and fails.
    """
    package = folder / APP / PACKAGE
    (package / "client_app.py").write_text(MALICIOUS_CLIENT)
    (package / "server_app.py").write_text(ASKING_SERVER)
    return folder / APP


def allow(node: Path, schemes: str, apps: list[str], rounds: int = 10) -> None:
    """Write the policy of a node."""
    said = POLICY.format(schemes=f'"{schemes}"', rounds=rounds, apps=", ".join(f'"{each}"' for each in apps))
    if "pruning" in schemes:
        said = said.replace(', "encodings"', "")
    (node / "policy.toml").write_text(said)


def copied_nodes(origin: Path, to: Path) -> None:
    """Give a federation the nodes of another."""
    for node in sorted(to.glob("node-*")):
        shutil.rmtree(node)
        shutil.copytree(origin / node.name, node)
