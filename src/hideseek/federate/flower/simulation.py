"""A federation on one machine, by Flower's simulation: a process for each core, which plays one party after another."""

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.flower.apps import client_app, serve
from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.flower.ray_processes import keep_handlers, own_temporary_folder, start_ray, without_leftovers
from hideseek.federate.messages import Message
from hideseek.federate.party import Part, PartySettings
from hideseek.federate.server import Server, ServerSettings, Tell
from hideseek.records import Samples

PARTIES = "parties"
POLL = 0.05  # seconds between two looks


@dataclass(frozen=True)
class Simulated:
    """Who takes part: images of one set, dealt out among so many parties."""

    data: str
    parties: int
    alpha: float | None = None
    """Of a Dirichlet split; None: even parts."""
    record: bool = False
    seed: int | None = None

    def settings(self, out: Path) -> Callable[[Context], PartySettings]:
        """Give what a simulated node knows of itself."""
        usual = PartySettings(self.data, out, record=self.record, seed=self.seed)
        parties, alpha, folder = self.parties, self.alpha, out / PARTIES

        def settings_of(context: Context) -> PartySettings:
            place = int(context.node_config["partition-id"])
            return replace(usual, folder=folder / f"party-{place:03d}", part=Part(place, parties, alpha))

        return settings_of


@dataclass(frozen=True)
class SimulatedParties(FlowerParties):
    """Simulated nodes, under the numbers of their parts: Flower draws other numbers for them in every run."""

    count: int
    running: Future[None]

    def present(self) -> list[int]:
        """Give the numbers of all parties."""
        return list(range(self.count))

    def ask_on(
        self, queues: Mapping[int, Iterable[Message]], timeout: float
    ) -> Iterator[tuple[int, Message, Message | None]]:
        """Ask nodes; they were registered in the order of their parts."""
        nodes = self._nodes()
        there = {nodes[place]: queue for place, queue in queues.items()}
        for node, asked, answer in super().ask_on(there, timeout):
            yield nodes.index(node), asked, answer

    def rest(self, seconds: float) -> None:
        """Wait as long as Flower runs; its nodes are here, so that looking often costs nothing."""
        time.sleep(POLL)
        keep_handlers()
        if self.running.done():
            raise _broken(self.running)

    def _nodes(self) -> list[int]:
        state: Any = self.grid.state  # type: ignore[attr-defined] # of the grid in memory, which simulations have
        while len(nodes := [int(each.node_id) for each in state.get_node_info()]) < self.count:
            time.sleep(POLL)
        return nodes


def simulate(
    who: Simulated, agreement: Agreement, settings: ServerSettings, test: Samples | None, tell: Tell = lambda _: None
) -> None:
    """Run the federation; the server works in this thread, where an interrupt reaches it, and Flower in another."""
    grids: Queue[Grid] = Queue()
    done = threading.Event()
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        grids.put(grid)
        done.wait()

    with (
        _silent(),
        own_temporary_folder() as folder,
        without_leftovers(folder) as look,
        ThreadPoolExecutor(1) as thread,
    ):
        client = client_app(who.settings(settings.out))
        running = thread.submit(_flower, app, client, who.parties, folder)
        try:
            parties = SimulatedParties(_grid(grids, running), who.parties, running)
            serve(Server(agreement, settings, parties, test, tell))
        finally:
            look()
            done.set()
        running.result()


def _grid(grids: "Queue[Grid]", running: "Future[None]") -> Grid:
    while True:
        try:
            return grids.get(timeout=POLL)
        except Empty:
            if running.done():
                raise _broken(running) from None


def _broken(running: "Future[None]") -> BadInput:
    """Say why Flower's simulation has ended before the federation."""
    error = running.exception()
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    why = next(iter(str(error).splitlines()), "") if error else "it says nothing"
    return BadInput(f"Flower's simulation broke off ({why}): try again when the machine is less busy.")


def _flower(server: ServerApp, client: ClientApp, parties: int, folder: Path) -> None:
    """Start Ray, which Flower takes as it finds it: a process a core, nothing printed, and no file that stays."""
    start_ray(folder, min(os.cpu_count() or 1, parties))
    resources: Any = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server, client, parties, backend_config=resources)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep Flower and Ray from printing; what goes wrong is raised."""
    loggers = [logging.getLogger(name) for name in ("flwr", "ray")]
    before = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray
            yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)
