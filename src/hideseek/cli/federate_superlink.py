"""`hideseek federate superlink DIR`: the server side of a federation, to which nodes connect."""

from collections.abc import Sequence

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import SuperLinkOptions
from hideseek.cli.federate_simulate import need_flower


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and start the SuperLink; it runs until it is stopped."""
    asked = parse(SuperLinkOptions, "hideseek federate superlink", arguments)
    need_flower()
    from hideseek.federate.flower.superlink import SuperLink

    SuperLink(asked.folder, asked.host, asked.port).start()
