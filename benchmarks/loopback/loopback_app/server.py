"""A server that gets the same bytes in turn: by plain messages, and as encodings, checked and kept on the disk."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from hideseek.federate.agreement import Agreement
from hideseek.federate.encodings import delivered
from hideseek.federate.flower.parties import AHEAD, POLL, FlowerParties
from hideseek.federate.messages import Message as Ours
from hideseek.federate.server import Server, ServerSettings

TIMEOUT = 1800.0
SETTLED = 2.0  # seconds

app = ServerApp()
described: list[float] = []


@dataclass(frozen=True)
class TimedParties(FlowerParties):
    """One party, and how long descriptions took, which are asked for at once and not one after another."""

    party: int

    def present(self) -> list[int]:
        """Give the one party; the other node sends plain messages."""
        return [self.party]

    def ask(self, messages: Mapping[int, Ours], timeout: float) -> dict[int, Ours]:
        """Ask, and note the seconds."""
        start = time.perf_counter()
        answers = super().ask(messages, timeout)
        described.append(time.perf_counter() - start)
        return answers


def processor(numbers: Mapping[str, int]) -> dict[str, float]:
    """Give the seconds that the processor spent on this process, and on others with all that they started."""
    spent = {"server": time.process_time()}
    for role, number in numbers.items():
        parent = psutil.Process(number)
        spent[role] = sum(map(_used, [parent, *parent.children(recursive=True)]))
    return spent


def _used(process: psutil.Process) -> float:
    """Give the seconds of a process, and of its children that have ended; this one is counted by itself."""
    if process.pid == os.getpid():
        return 0.0
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run all rounds, and write the seconds down."""
    plan = json.loads(Path(str(context.run_config["plan"])).read_text("utf-8"))
    nodes = plan["nodes"]
    agreement, out = Agreement.from_json(plan["agreement"]), Path(plan["out"])

    def ours() -> int:
        settings = ServerSettings(out, least=1, timeout=TIMEOUT)
        server = Server(agreement, settings, TimedParties(grid, nodes["node"]))
        delivered(server, 0)
        shutil.rmtree(out)
        return server.traffic.back

    ways: dict[str, Callable[[], int]] = {
        "plain": lambda: plain(grid, nodes["plain node"], plan["shards"]),
        "ours": ours,
    }
    found: dict[str, Any] = {"seconds": {}, "processor": {}, "roles": {}, "bytes": {}}
    for round_ in range(plan["rounds"] + 1):
        for name in plan["ways"]:
            used, start = processor(plan["processes"]), time.perf_counter()
            found["bytes"][name] = ways[name]()
            seconds = time.perf_counter() - start
            time.sleep(SETTLED)  # until the last client has ended
            if round_ or not plan["rounds"]:  # in the first one files are read into memory
                found["seconds"].setdefault(name, []).append(seconds)
                spent = {role: round(now - used[role], 2) for role, now in processor(plan["processes"]).items()}
                found["processor"].setdefault(name, []).append(sum(spent.values()))
                found["roles"].setdefault(name, []).append(spent)
    found["described"] = described[-max(1, plan["rounds"]) :]
    Path(plan["result"]).write_text(json.dumps(found))


def question(node: int, path: str) -> Message:
    """Ask for the bytes of a file."""
    records = RecordDict({"config": ConfigRecord({"path": path})})
    return Message(records, dst_node_id=node, message_type="query.plain", ttl=TIMEOUT)


def plain(grid: Grid, node: int, paths: list[str]) -> int:
    """Get files by plain messages, with as many under way, and looked for as often, as hideseek's server does."""
    under_way: list[str] = []
    left, total = list(paths), 0
    while left or under_way:
        while left and len(under_way) < AHEAD:
            under_way.extend(grid.push_messages([question(node, left.pop(0))]))
        answers = list(grid.pull_messages(under_way[:1]))
        if answers:
            total += size(answers[0])
            under_way.pop(0)
        else:
            time.sleep(POLL)
    return total


def size(answer: Message) -> int:
    """Read the array of an answer."""
    return int(answer.content.array_records["arrays"]["bytes"].numpy().nbytes)
