"""The options of `hideseek federate`, a class for each of its verbs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from hideseek.federate.agreement import Protocol

UNDESCRIBED = arg(help="")  # a group of options that its title explains


def _unset(metavar: str) -> Any:
    """Describe an option that is left out by default, without a default in its help."""
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Shared:
    """What parties share, and of which model."""

    scheme: Annotated[str, arg(metavar="SCHEME")] = "none"
    """Gradients: a chain of encoding and defences, such as intra-instahide:k=4+gradient-pruning:p=0.9.
    Encodings: a scheme, such as instahide-inside:k=4."""
    protocol: Annotated[Protocol, arg(metavar="HOW")] = "gradients"
    """Share gradients of a model in every round, or ship encodings of images to the server."""
    model: Annotated[str | None, _unset("NAME")] = None
    """The architecture; by default a small one that suits the images."""
    public: Annotated[str | None, _unset("ADDRESS")] = None
    """Public images to mix in: agreed on by name and checksum, never sent."""
    rounds: Annotated[int, arg(metavar="N")] = 10
    """Rounds of gradients; of encodings, with --again, rounds in each of which images are encoded anew."""
    again: bool = False
    """Encode images anew in every round, not once."""
    batch: Annotated[int, arg(metavar="N")] = 16
    """Images of a local step."""
    local_steps: Annotated[int | None, _unset("N")] = None
    """Local steps of an update; by default all images of a party once. 1 is FedSGD."""
    local_epochs: Annotated[int, arg(metavar="N")] = 1
    """How often a party sees its images before it sends."""
    rate: Annotated[float, arg(metavar="RATE")] = 0.05
    """The learning rate of local steps."""
    proximal: Annotated[float, arg(metavar="MU")] = 0.0
    """μ of FedProx: how strongly local steps are pulled back to the model that was sent."""
    buffers: bool = True
    """Share running statistics of batch norm."""
    size: Annotated[int | None, _unset("PIXELS")] = None
    """Resize and centre-crop every image to this side."""
    channels: Annotated[Literal[1, 3] | None, _unset("1|3")] = None
    """Make every image grey (1) or RGB (3)."""


@dataclass(frozen=True)
class Serving:
    """What the server does."""

    strategy: Annotated[str, arg(metavar="NAME")] = "fedavg"
    """How updates are put together: fedavg, fedavgm, fedadam, fedprox (with --proximal).
    Against hostile parties: trimmed-mean, fedmedian, krum, multi-krum."""
    fraction: Annotated[float, arg(metavar="SHARE")] = 1.0
    """The share of parties that is asked in a round."""
    least: Annotated[int, arg(metavar="N")] = 2
    """Parties that must answer in a round."""
    timeout: Annotated[float, arg(metavar="SECONDS")] = 600.0
    """How long to wait for an answer."""
    epochs: Annotated[int, arg(metavar="N")] = 10
    """Of training on encodings that are sent once."""
    test: Annotated[str | None, _unset("ADDRESS")] = None
    """Images to test the model with after every round, such as mnist?split=test."""
    record: bool = False
    """Keep all that parties send, as releases that `hideseek audit --recorded` attacks."""


@dataclass(frozen=True)
class Simulate:
    """Run a federation on this machine, by Flower's simulation: one set of images, dealt out among parties.

    Gradients: in every round parties send updates of a model, of fresh encodings. Encodings: they send encoded images,
    and the server trains. What leaves every party is written to out/parties/party-NNN/left.jsonl.

    Try:  hideseek federate simulate --parties 10 --data faces --rounds 5 --out federated
          hideseek federate simulate --data mnist --protocol encodings --scheme instahide-inside --out federated
    """

    data: Annotated[str, arg(metavar="ADDRESS")]
    """Images with labels: folder:, dicom: or npz:PATH, or a name (see `hideseek data`)."""
    out: Annotated[Path, arg(metavar="DIR")]
    """The folder to write: model, metrics, curve, and what parties keep."""
    parties: Annotated[int, arg(metavar="N")] = 10
    """How many parties there are."""
    alpha: Annotated[float | None, _unset("α")] = None
    """Deal every class out by Dirichlet(α): a small α gives unlike parties; by default parts are even."""
    shared: Annotated[Shared, UNDESCRIBED] = field(default_factory=Shared)
    serving: Annotated[Serving, UNDESCRIBED] = field(default_factory=Serving)
    resume: bool = False
    """Go on with a federation that was stopped."""
    seed: Annotated[int | None, _unset("N")] = None
    """For studies: draw everything from this number, keys too."""


@dataclass(frozen=True)
class Init:
    """Write a federation of real processes as a folder: a Flower app, certificates, and a folder for each node.

    The app has no dependencies: hideseek is installed where it runs. Each node has a key, the address of its images,
    and policy.toml, which says what may leave it; all of that is outside of the app, where no server can change it.

    Try:  hideseek federate init trial --data faces --size 24 --rounds 3
          trial/run.sh
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The folder to write."""
    data: Annotated[tuple[str, ...], arg(metavar="ADDRESS …")]
    """Images with labels: one address, which is dealt out among the nodes, or one for each node.
    Of the first, everybody learns the shape, the names of classes, and mean and deviation of each channel."""
    nodes: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: 2)")] = None
    """How many nodes one address is dealt out among; of several addresses, there is a node for each."""
    alpha: Annotated[float | None, _unset("α")] = None
    """Deal every class out by Dirichlet(α); by default parts are even."""
    hosts: Annotated[tuple[str, ...], arg(metavar="HOST …", help_behavior_hint="")] = ()
    """Names or addresses of the SuperLink's machine, for its certificate, beside localhost."""
    shared: Annotated[Shared, UNDESCRIBED] = field(default_factory=Shared)
    serving: Annotated[Serving, UNDESCRIBED] = field(default_factory=Serving)


@dataclass(frozen=True)
class Run:
    """Run a federation that `hideseek federate init` wrote, on this machine: a SuperLink, every node, and the app.

    All processes are stopped at the end, also after an error and after Ctrl-C. A run that was interrupted goes on after
    its last finished round. The exit code is 0 if the run was completed.

    Try:  hideseek federate run trial
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The folder of the federation."""
    port: Annotated[int | None, _unset("PORT")] = None
    """The port of the SuperLink; by default one that is free."""


@dataclass(frozen=True)
class NodeOptions:
    """Start the node of one party: Flower's SuperNode, with a gate that no app can get around.

    Every answer, of whatever app, is held against policy.toml in the node's folder before it leaves; what is not
    allowed stays, and kept/left.jsonl says why. The node signs in by the file key, the SuperLink must by ca.crt.

    Try:  hideseek federate node trial/node-1 --superlink server.example.org:9092
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The folder of the node: node.toml, policy.toml, key, ca.crt."""
    superlink: Annotated[str, arg(metavar="HOST:PORT")]
    """Where the SuperLink listens."""


@dataclass(frozen=True)
class SuperLinkOptions:
    """Start the SuperLink of a federation: Flower's own, over TLS; nodes connect to it, and sign in by their keys.

    Other machines are answered where they are nodes alone: keys are made known, and apps started, on this machine.
    What it knows is kept in DIR/superlink.db, so that it can be stopped and started again.

    Try:  hideseek federate superlink trial/server --host 0.0.0.0 --port 9092
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The server's folder of a federation: ca.crt, server.crt, server.key."""
    host: Annotated[str, arg(metavar="ADDRESS")] = "127.0.0.1"
    """The address to listen on; 0.0.0.0: all that this machine has."""
    port: Annotated[int, arg(metavar="PORT")] = 9092
    """The port to listen on: the only one that nodes need."""
