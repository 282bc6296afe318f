"""What the batches of every source share: their number, and the random streams that they are drawn from."""

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.train.worker import Worker


def full_batches(rows: int, batch: int) -> int:
    """Give how many full batches an epoch has, at least one."""
    if rows < batch:
        raise BadInput(f"{rows} images are fewer than a batch of {batch}: lower the batch size or add images.")
    return rows // batch


def epoch_streams(chance: Randomness, epochs: int, worker: Worker) -> tuple[Randomness, ...]:
    """Draw a stream for every epoch, the same in all processes that train together."""
    keys = worker.agreed(chance.bytes(32 * epochs))
    return tuple(Randomness(keys[32 * i : 32 * (i + 1)], chance.seed) for i in range(epochs))


def reopened(stream: Randomness) -> Randomness:
    """Open a stream at its beginning."""
    return Randomness(stream.key, stream.seed)


def shared_seed(chance: Randomness, worker: Worker) -> int:
    """Draw a seed for what is no secret, the same in all processes that train together."""
    return int.from_bytes(worker.agreed(chance.bytes(6)), "little")
