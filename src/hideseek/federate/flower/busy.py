"""A machine that is busy: a SuperLink that cannot answer at this moment is asked again, and apps may start late."""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

import httpx
from sqlalchemy.exc import OperationalError
from starlette.middleware import Middleware

PAUSE, LONGEST = 1.0, 300.0  # seconds between two tries, and until the last of them
UNAVAILABLE = 503  # of HTTP: all of Flower's programs ask again after it, and end after a 500
TRANSLATOR = "http_error_translator"  # Flower's function that answers with a 500
CLAIMED = "HEARTBEAT_DEFAULT_INTERVAL"  # seconds that Flower gives an app to start
STATES = {
    "flwr.supercore.corestate.sql_corestate": "SqlCoreState",
    "flwr.supercore.corestate.in_memory_corestate": "InMemoryCoreState",
}

Found = TypeVar("Found")


def asked_again(call: Callable[[], Found], pause: float = PAUSE, longest: float = LONGEST) -> Found:
    """Call, and call again where the SuperLink is too busy to answer; what it refuses is raised at once."""
    until = time.monotonic() + longest
    while True:
        try:
            return call()
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
        time.sleep(pause)


def is_busy(error: httpx.TransportError | httpx.HTTPStatusError) -> bool:
    """Tell whether an error may be gone when one asks again: the server's own, not of what it was asked.

    A certificate that is not trusted is not a matter of time.
    """
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.is_server_error
    return not any(word in str(error).lower() for word in ("certificate", "ssl", "tls"))


@dataclass(frozen=True)
class AskAgain:
    """Says that a SuperLink is unavailable, and not broken, where its database was locked too long by others."""

    app: Any

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        begun = []

        async def sent(message: Any) -> None:
            begun.append(message)
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except OperationalError:
            if begun:
                raise
            head = [(b"content-type", b"text/plain"), (b"retry-after", b"1")]
            await send({"type": "http.response.start", "status": UNAVAILABLE, "headers": head})
            await send({"type": "http.response.body", "body": b"the database is busy: ask again"})


def ask_again(app: Any) -> None:
    """Put `AskAgain` into a SuperLink's app, just inside of what would make it a 500; where that is not, innermost."""
    inside = [place for place, each in enumerate(app.user_middleware, 1) if TRANSLATOR in str(each.kwargs)]
    app.user_middleware.insert(inside[0] if inside else len(app.user_middleware), Middleware(AskAgain))


def start_late(seconds: float = LONGEST) -> None:
    """Let apps that a SuperLink or SuperNode of this process starts take so long until they say that they run.

    Flower gives them 30 seconds, and imports alone take 5 of a core's. Where it is put together in another way, its own
    time holds.
    """
    for module, name in STATES.items():
        try:
            state: Any = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        claim = state.claim_task
        if isinstance(claim, FunctionType) and CLAIMED in claim.__code__.co_names:
            known = {**claim.__globals__, CLAIMED: seconds}
            state.claim_task = FunctionType(claim.__code__, known, claim.__name__, claim.__defaults__)
