"""The server's view of the parties: who is there, and what they answer; what carries the messages is left open."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hideseek.federate.messages import Message


class Parties(ABC):
    """Those who can be asked. A party that does not answer in time is missing from the answers."""

    @abstractmethod
    def present(self) -> list[int]:
        """Give the numbers of the parties that are connected."""

    @abstractmethod
    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Ask some parties at the same time, and give the answers that came in time."""

    def ask_on(
        self, queues: Mapping[int, Iterable[Message]], timeout: float
    ) -> Iterator[tuple[int, Message, Message | None]]:
        """Ask every party one message after another, and give what was asked with each answer, as soon as it is there.

        Queues are read when their next message can be sent, so that whoever asks can end one meanwhile. A party that
        does not answer in time gives None, once, and is asked nothing more. What is held at a time does not grow with
        the length of a queue.
        """
        waiting = {party: iter(queue) for party, queue in queues.items()}
        while waiting:
            for party in list(waiting):
                message = next(waiting[party], None)
                answer = None if message is None else self.ask({party: message}, timeout).get(party)
                if answer is None:
                    del waiting[party]
                if message is not None:
                    yield party, message, answer


@dataclass
class Traffic:
    """Bytes that went out to parties and came in from them."""

    out: int = 0
    back: int = 0


@dataclass
class Counted(Parties):
    """The same parties, and how many bytes went to and fro."""

    parties: Parties
    traffic: Traffic

    def present(self) -> list[int]:
        """Give the parties that are connected."""
        return self.parties.present()

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Ask, and count."""
        self.traffic.out += sum(message.size() for message in messages.values())
        answers = self.parties.ask(messages, timeout)
        self.traffic.back += sum(message.size() for message in answers.values())
        return answers

    def ask_on(
        self, queues: Mapping[int, Iterable[Message]], timeout: float
    ) -> Iterator[tuple[int, Message, Message | None]]:
        """Ask one message after another, and count."""
        for party, asked, answer in self.parties.ask_on(queues, timeout):
            self.traffic.out += asked.size()
            self.traffic.back += 0 if answer is None else answer.size()
            yield party, asked, answer
