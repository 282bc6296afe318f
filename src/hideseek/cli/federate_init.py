"""`hideseek federate init DIR`: a federation of real processes, written as a folder."""

from collections.abc import Sequence
from dataclasses import asdict

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import Init
from hideseek.cli.federate_simulate import need_flower
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.federate.planned import Plan
from hideseek.federate.project import APP, OUT, RUN, SERVED, Project
from hideseek.federate.server import ServerSettings
from hideseek.files import must_be_new


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and write."""
    init(parse(Init, "hideseek federate init", arguments, config=(tyro.conf.OmitArgPrefixes,)))


def init(asked: Init) -> None:
    """Agree, and write the project, the server's files and those of every node."""
    need_flower()
    must_be_new(asked.folder)
    nodes = asked.nodes if len(asked.data) == 1 else len(asked.data)
    if nodes < 1:
        raise BadInput("a federation has one node at least.")
    plan = Plan(asked.data[0], parties=nodes if len(asked.data) == 1 else 1, **asdict(asked.shared))
    agreement, _ = plan.agreement()
    serving = asked.serving
    settings = ServerSettings(
        asked.folder / SERVED / OUT, serving.strategy, serving.fraction, min(serving.least, nodes),
        wait=serving.timeout, timeout=serving.timeout, record=serving.record, epochs=serving.epochs,
    )  # fmt: skip
    hosts = ("localhost", "127.0.0.1", *asked.hosts)
    project = Project(agreement, asked.shared.scheme, settings, asked.data, nodes, asked.alpha, serving.test, hosts)
    from hideseek.federate.flower.control import app_digest

    project.write(asked.folder, app_digest)
    say(f"{asked.folder} holds a federation of {nodes} nodes; {agreement.scheme.summary()}")
    say(f"  {asked.folder / APP}: the Flower app, with the agreement.")
    say(f"  {asked.folder / SERVED}: the server's settings, certificates, and later its model.")
    for place in range(nodes):
        say(f"  {asked.folder / f'node-{place + 1}'}: its key, its images' address, and its policy.toml.")
    say(f"Run it here:  {asked.folder / RUN}")
