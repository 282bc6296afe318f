"""A node that was killed comes back: its SuperLink takes it for connected for a minute more, and is asked again."""

import time
from collections.abc import Callable
from logging import WARNING
from typing import Any

import httpx
from flwr.common.logger import log
from flwr.supercore.error import ApiErrorCode, FlowerError
from flwr.supernode.fleet_http_client import FleetHttpClient

SAID = "the SuperLink takes this node for connected still, or does not know its key yet: trying again"
PAUSE, LONGEST = 5.0, 150.0  # seconds between two tries, and until the node gives up


def try_again_for_a_while() -> None:
    """Let the SuperNode of this process wait where its SuperLink thinks that it is still connected."""
    FleetHttpClient.ActivateNode = patient(FleetHttpClient.ActivateNode)  # type: ignore[method-assign]


def patient(activate: Callable[..., Any], pause: float = PAUSE, longest: float = LONGEST) -> Callable[..., Any]:
    """Give a function that signs in, and tries again where it is refused for this reason alone."""

    def tried(*given: Any, **named: Any) -> Any:
        until = time.monotonic() + longest
        while True:
            try:
                return activate(*given, **named)
            except httpx.HTTPStatusError as error:
                found = FlowerError.from_json(error.response.text)
                still = found is not None and found.code == ApiErrorCode.FLEET_NODE_ACTIVATION_FAILED
                if not still or time.monotonic() > until:
                    raise
                log(WARNING, "%s", SAID)
            time.sleep(pause)

    return tried
