"""`hideseek federate init DIR`: a federation of real processes, written as a folder."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import asdict

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import Init
from hideseek.cli.federate_simulate import check_parts, check_serving, need_flower
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.federate.planned import Plan
from hideseek.federate.project import APP, COHORT, OUT, RUN, SERVED, Project
from hideseek.federate.server import ServerSettings, load_test
from hideseek.files import must_be_new

NODES = 2  # where one address is dealt out, and nothing is said
LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
NAME = re.compile(rf"{LABEL}(\.{LABEL})*")


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and write."""
    init(parse(Init, "hideseek federate init", arguments, config=(tyro.conf.OmitArgPrefixes,)))


def init(asked: Init) -> None:
    """Agree, and write the project, the server's files and those of every node."""
    need_flower()
    must_be_new(asked.folder)
    nodes = _nodes(asked)
    check_serving(asked.serving, nodes, asked.shared)
    for host in asked.hosts:
        _check_host(host)
    plan = Plan(asked.data[0], parties=nodes if len(asked.data) == 1 else 1, **asdict(asked.shared))
    agreement, images = plan.agreement()
    serving = asked.serving
    if len(asked.data) == 1:
        check_parts(nodes, asked.alpha, agreement, images)
    load_test(serving.test, agreement)
    settings = ServerSettings(
        asked.folder / SERVED / OUT, serving.strategy, serving.fraction, min(serving.least, nodes),
        wait=serving.timeout, timeout=serving.timeout, record=serving.record, epochs=serving.epochs,
    )  # fmt: skip
    hosts = ("localhost", "127.0.0.1", *asked.hosts)
    project = Project(agreement, asked.shared.scheme, settings, asked.data, nodes, asked.alpha, serving.test, hosts)
    from hideseek.federate.flower.control import app_digest

    cohorts = project.write(asked.folder, app_digest)
    say(f"{asked.folder} holds a federation of {nodes} nodes. {agreement.scheme.summary()}")
    say(f"  {asked.folder / APP}: the Flower app, with the agreement.")
    say(f"  {asked.folder / SERVED}: the server's settings, certificates, and later its model.")
    for place in range(nodes):
        say(f"  {asked.folder / f'node-{place + 1}'}: its key, its images' address, and its policy.toml.")
    say(f"Policies let nothing leave that is of fewer than {_cohorts(cohorts)}.")
    say(f"Run it here:  {asked.folder / RUN}")


def _cohorts(cohorts: Sequence[int]) -> str:
    """Say of how many images a message must be, and where that is fewer than it should be.

    >>> _cohorts([10, 10]), _cohorts([8, 10])
    ('10 images', '8 images (fewer than 10 are planned: take a larger batch, more local steps, or more images)')
    """
    least = min(cohorts)
    why = f" (fewer than {COHORT} are planned: take a larger batch, more local steps, or more images)"
    return f"{least} images{why if least < COHORT else ''}"


def _nodes(asked: Init) -> int:
    """Give the number of nodes; several addresses are of one node each."""
    if len(asked.data) > 1:
        if asked.nodes not in (None, len(asked.data)):
            raise BadInput(f"there are {len(asked.data)} addresses, each of one node: leave --nodes {asked.nodes} out.")
        return len(asked.data)
    nodes = NODES if asked.nodes is None else asked.nodes
    if nodes < 1:
        raise BadInput("a federation has one node at least.")
    return nodes


def _check_host(host: str) -> None:
    """Refuse what is neither an address nor a name, by characters or lengths that none has."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            name = host.encode("idna").decode("ascii")
        except ValueError:
            name = ""
        if NAME.fullmatch(name) is None:
            raise BadInput(f"{host!r} is neither a name nor an address of a machine.") from None
