"""A store that passes the cache by, in LLVM: numba has none.

An ordinary store first reads what it overwrites, a streaming one does not. Rows are made at the rate of memory, so that
counts: plain numba takes 1.06 to 1.10 times as long for rows of float32 images, and 1.16 to 1.21 times for rows of
bytes (50,000 images, the shortest of eight runs in turn, two threads); whole, by benchmarks/encode.py, 1.17 to 1.30
times, with which it misses the 2.5 that is asked of rows of bytes. In fresh memory an ordinary store is better: a
system that clears a page leaves it in the cache, and who passes that by writes it twice (`kernel._store`).
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

FLOATS = 32  # that are stored at once: as many as a word of the mask has bits
ALIGNED = 32  # bytes that the address must be a multiple of


def _generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
    """Copy 32 floats, and flip the signs where a word of 32 bits says so."""
    byte, word = ir.IntType(8), ir.IntType(32)
    eight = ir.VectorType(word, 8)
    to, at, flips = (builder.inttoptr(argument, byte.as_pointer()) for argument in arguments)
    bits = builder.load(builder.bitcast(flips, word.as_pointer()), align=1)
    lane = builder.insert_element(ir.Constant(eight, ir.Undefined), bits, ir.Constant(word, 0))
    spread = builder.shuffle_vector(lane, lane, ir.Constant(eight, [0] * 8))
    for part in range(4):
        place = [ir.Constant(word, 32 * part)]
        shifted = builder.shl(spread, ir.Constant(eight, [31 - 8 * part - t for t in range(8)]))
        signs = builder.and_(shifted, ir.Constant(eight, [0x80000000] * 8))
        values = builder.load(builder.bitcast(builder.gep(at, place), eight.as_pointer()), align=4)
        target = builder.bitcast(builder.gep(to, place), eight.as_pointer())
        store = builder.store(builder.xor(values, signs), target, align=ALIGNED)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(word, 1)]))
    return context.get_dummy_value()


@intrinsic
def stream(_: Any, target: Any, source: Any, flips: Any) -> Any:
    """Copy 32 floats to an address that 32 divides, with the sign of float q flipped where bit q is set."""
    return types.void(types.uintp, types.uintp, types.uintp), _generate
