"""`hideseek federate node DIR`: a party's node, whose answers pass its owner's gate."""

from collections.abc import Sequence

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import NodeOptions
from hideseek.cli.federate_simulate import need_flower


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and start the node; it runs until it is stopped."""
    asked = parse(NodeOptions, "hideseek federate node", arguments)
    need_flower()
    from hideseek.federate.flower.node import Node

    Node(asked.folder, asked.superlink).start()
