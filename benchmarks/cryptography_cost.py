"""How much cryptography slows training down: one step, plain, hidden and under homomorphic encryption, in one run.

    python benchmarks/cryptography_cost.py [--quick] [--json FILE]

The step is one of gradient descent for logistic regression with two classes (digits from 5 on, against the others), 64
images of 784 pixels, no bias: w' = w + η/n Xᵀ(y − s(Xw)). Two classes, since a softmax needs exponentials and a
division, which ciphertexts do not have. MNIST is read from the folder that HIDESEEK_DATA names, if mnist.npz is there;
else pixels are random, and times are the same.

- plain: PyTorch, s the logistic sigmoid, the formula as it stands; and as most would write it, with autograd;
- hidden: InstaHide (inside, k = 4) encodes the batch, and PyTorch learns from the encodings;
- homomorphic: CKKS (TenSEAL's binding of Microsoft SEAL). Images, labels and weights are all encrypted with the owner's
  key; the server computes on ciphertexts alone, s being the cubic that is nearest to the sigmoid on [−8, 8] (Kim et al.
  2018). There is no bootstrapping, so the owner decrypts the weights after the step and encrypts them afresh for the
  next. Decrypted weights are compared with those of the same step in the clear; if they differ, nothing is reported.

Everything has one thread. Times are medians over rounds in which every contender has its turn; encrypting and making
keys include writing them. Bytes of a plain batch are those of MNIST, one a pixel.

What this is not: an answer for deep networks, which need a polynomial for every activation and bootstrapping between
layers; nor for secure computation among several servers, who are then trusted not to collude. The ratio depends on the
packing: here 64 pixels of all 64 images share a ciphertext, where one ciphertext an image would take many times longer.
The file is not called cryptography.py, since it would be imported instead of the library of that name.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any

import torch
from torch import Tensor

from hideseek.chance import secure
from hideseek.data import load
from hideseek.hide import InstaHide
from hideseek.records import Samples

try:
    import tenseal
    from tenseal import sealapi as seal
except ImportError:
    sys.exit("This benchmark needs TenSEAL: pip install 'hideseek[bench]'")

BATCH, PIXELS, RATE = 64, 784, 0.1
CUBIC = (0.5, 1.20096 / 8, -0.81562 / 8**3)  # s(z) ≈ c₀ + c₁z + c₃z³, least squares on [−8, 8]
DEGREE = 8192  # of the polynomial modulus; for 128 bits of security (HomomorphicEncryption.org 2018), q has 218 at most
BITS = (44, 32, 32, 32, 32, 46)  # of q's primes, 218 in sum: what remains, four multiplications, the keys' own
SCALE, IMAGE_SCALE = 2.0**38, 2.0**27  # images get less, so that the small terms of the gradient have more
SLOTS = DEGREE // 2
PARTS = math.ceil(PIXELS * BATCH / SLOTS)  # ciphertexts that hold the batch, slot = pixel · 64 + image
TOLERANCE = 1e-3  # of the largest change of a weight

PROTECTS = {
    "plain": "nothing: the server sees images and labels.",
    "hidden": "a glance, not an attack: InstaHide was broken in 2020 (Carlini et al.), and a server that is honest but "
    "curious recovers images from the encodings. The mixed labels are in the open.",
    "homomorphic": "a server that is honest but curious: it learns nothing of images, labels and weights if ring-LWE "
    "is hard, only counts, the learning rate and what is computed. It cannot see the loss, and a dishonest one could "
    "compute something else unnoticed. What was decrypted must not be shown to it (Li and Micciancio 2021), and what a "
    "model that is given out reveals of its training images is not protected.",
}


def side_by_side(rounds: int, **contenders: tuple[int, Callable[[], object]]) -> dict[str, list[float]]:
    """Time every contender once a round, after one that does not count; each runs as often as said, for its mean."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, (times, run) in contenders.items():
            start = time.perf_counter()
            for _ in range(times):
                run()
            if number:
                seconds[name].append((time.perf_counter() - start) / times)
    return seconds


def digits(count: int) -> tuple[str, Samples]:
    """Give digits with two classes, from 5 on or not, or random pixels where there is no file of them."""
    path = Path(os.environ.get("HIDESEEK_DATA", "")).expanduser() / "mnist.npz"
    if path.is_file():
        found = load(f"npz:{path}").take(slice(0, count))
        large = found.labels[:, 5:].sum(1)
        return "mnist", Samples(found.images, torch.stack([1 - large, large], 1), found.scale, found.shift)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=generator)
    return "random", Samples(images, torch.eye(2)[torch.arange(count) % 2], torch.full((1, 1), 1 / 255))


def sigmoid_cubic(scores: Tensor) -> Tensor:
    """Approximate the logistic sigmoid by c₀ + c₁z + c₃z³."""
    return CUBIC[0] + CUBIC[1] * scores + CUBIC[2] * scores**3


def step(weights: Tensor, pixels: Tensor, labels: Tensor, sigmoid: Callable[[Tensor], Tensor]) -> Tensor:
    """Take one step in the clear: w' = w + η/n Xᵀ(y − s(Xw))."""
    return torch.addmv(weights, pixels.T, labels - sigmoid(pixels @ weights), alpha=RATE / len(labels))


def autograd_step(model: torch.nn.Linear, descent: torch.optim.SGD, pixels: Tensor, labels: Tensor) -> None:
    """Take the same step as most training loops do."""
    descent.zero_grad()
    torch.nn.functional.binary_cross_entropy_with_logits(model(pixels)[:, 0], labels).backward()
    descent.step()


def hidden_step(weights: Tensor, samples: Samples) -> Tensor:
    """Encode the batch, and take the step on the encodings and their mixed labels."""
    encoded = InstaHide(k=4).hide(samples, None, secure())[0].encoded
    return step(weights, encoded.images.flatten(1), encoded.labels[:, 1], torch.sigmoid)


def agreed_context() -> Any:
    """Fix the parameters that owner and server share; SEAL refuses them below 128 bits of security."""
    parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(DEGREE)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(DEGREE, list(BITS)))
    context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
    if not context.parameters_set():
        sys.exit(f"SEAL refuses the parameters: {context.parameters_error_message()}")
    return context


def powers_of_two(start: int, end: int) -> list[int]:
    """List the powers of two from start to before end: the rotations that sum slots by doubling."""
    return [2**exponent for exponent in range(start.bit_length() - 1, end.bit_length() - 1)]


class Owner:
    """Who holds the secret key, and writes into a folder what the server may have: keys to compute with, ciphertexts.

    What is written is seeded: half of a fresh ciphertext or key is random, and only its seed is written.
    """

    def __init__(self, context: Any, folder: Path) -> None:
        self.context, self.folder = context, folder
        generator = seal.KeyGenerator(context)
        rotations = [pow(3, steps, 2 * DEGREE) for steps in powers_of_two(1, SLOTS)]  # as Galois elements
        generator.create_relin_keys().save(str(folder / "relinearisation"))
        generator.create_galois_keys(rotations).save(str(folder / "rotations"))
        public = seal.PublicKey()
        generator.create_public_key(public)  # for others who would add data; not used here
        public.save(str(folder / "public"))
        self.encoder = seal.CKKSEncoder(context)
        self.encryptor = seal.Encryptor(context, generator.secret_key())
        self.decryptor = seal.Decryptor(context, generator.secret_key())

    def encrypt(self, name: str, slots: Tensor, scale: float = SCALE) -> list[Path]:
        """Encrypt the rows of a matrix, one ciphertext each."""
        paths = []
        for number, row in enumerate(slots.tolist()):
            plain, path = seal.Plaintext(), self.folder / f"{name}{number}"
            self.encoder.encode(row, scale, plain)
            self.encryptor.encrypt_symmetric(plain).save(str(path))
            paths.append(path)
        return paths

    def encrypt_batch(self, pixels: Tensor, labels: Tensor) -> list[Path]:
        """Encrypt images, slot = pixel · 64 + image, and labels, repeated in the same way."""
        padded = torch.zeros(PARTS * SLOTS // BATCH, BATCH)
        padded[:PIXELS] = pixels.T
        return [
            *self.encrypt("images", padded.reshape(PARTS, SLOTS), IMAGE_SCALE),
            *self.encrypt("labels", labels.repeat(SLOTS // BATCH)[None]),
        ]

    def encrypt_weights(self, weights: Tensor) -> list[Path]:
        """Encrypt weights, each as often as there are images."""
        padded = torch.zeros(PARTS * SLOTS // BATCH)
        padded[:PIXELS] = weights
        return self.encrypt("weights", padded.repeat_interleave(BATCH).reshape(PARTS, SLOTS))

    def decrypt_weights(self, paths: list[Path]) -> Tensor:
        """Decrypt the new weights: the first of every 64 slots; the others hold sums that straddle two pixels."""
        slots = []
        for path in paths:
            plain, encrypted = seal.Plaintext(), seal.Ciphertext()
            encrypted.load(self.context, str(path))
            self.decryptor.decrypt(encrypted, plain)
            slots += self.encoder.decode_double(plain)[::BATCH]
        return torch.tensor(slots[:PIXELS], dtype=torch.float64)


class Server:
    """Who computes on ciphertexts, with the keys that multiplying and rotating need, and cannot decrypt.

    A ciphertext loses one prime of its modulus with every multiplication, from level 0 of `levels` to 4.
    """

    def __init__(self, context: Any, folder: Path) -> None:
        self.context, self.folder = context, folder
        self.relinearisation, self.rotations = seal.RelinKeys(), seal.GaloisKeys()
        self.relinearisation.load(context, str(folder / "relinearisation"))
        self.rotations.load(context, str(folder / "rotations"))
        self.encoder, self.evaluator = seal.CKKSEncoder(context), seal.Evaluator(context)
        self.levels, data = [], context.first_context_data()
        while data is not None:
            self.levels.append(data.parms_id())
            data = data.next_context_data()
        primes = [prime.value() for prime in context.first_context_data().parms().coeff_modulus()]
        self.lost = primes[::-1]  # lost[i] is the prime that goes on the way from level i to i + 1

    def load(self, paths: list[Path]) -> list[Any]:
        """Read ciphertexts that the owner wrote."""
        found = []
        for path in paths:
            encrypted = seal.Ciphertext()
            encrypted.load(self.context, str(path))
            found.append(encrypted)
        return found

    def save(self, encrypted: list[Any]) -> list[Path]:
        """Write the new weights for the owner."""
        paths = [self.folder / f"updated{number}" for number in range(len(encrypted))]
        for one, path in zip(encrypted, paths, strict=True):
            one.save(str(path))
        return paths

    def out(self, operation: str, *operands: Any) -> Any:
        """Apply an operation of SEAL's evaluator, and give what it writes."""
        result = seal.Ciphertext()
        getattr(self.evaluator, operation)(*operands, result)
        return result

    def lowered(self, encrypted: Any, level: int) -> Any:
        """Drop primes without dividing by them, to meet what has been multiplied more often."""
        return self.out("mod_switch_to", encrypted, self.levels[level])

    def reduced(self, product: Any) -> Any:
        """Bring a product back to two polynomials, then divide it by the next prime: the other order rounds worse."""
        return self.out("rescale_to_next", self.out("relinearize", product, self.relinearisation))

    def times(self, encrypted: Any, number: float, level: int, scale: float) -> Any:
        """Multiply by a number in the clear, so that the product arrives at this scale exactly."""
        lost, plain = self.lost[self.levels.index(encrypted.parms_id())], seal.Plaintext()
        self.encoder.encode(number, encrypted.parms_id(), scale * lost / encrypted.scale, plain)
        product = self.out("rescale_to_next", self.out("multiply_plain", encrypted, plain))
        product = self.lowered(product, level)
        product.scale = scale  # but for the last bit of a double
        return product

    def summed(self, encrypted: Any, start: int, end: int) -> Any:
        """Add slots that are multiples of start apart, up to end, to the first of them, by doubling."""
        for steps in powers_of_two(start, end):
            encrypted = self.out("add", encrypted, self.out("rotate_vector", encrypted, steps, self.rotations))
        return encrypted

    def residuals(self, scores: Any, labels: Any, scale: float) -> Any:
        """Give η/n (y − c₀ − c₁z − c₃z³) at level 3, at this scale."""
        rate = RATE / BATCH
        squares = self.reduced(self.out("square", scores))
        cubes = self.times(scores, -rate * CUBIC[2], 2, scale * self.lost[2] / squares.scale)
        cubes = self.reduced(self.out("multiply", cubes, squares))
        cubes.scale = scale
        linear = self.times(scores, -rate * CUBIC[1], 3, scale)
        result = self.out("add_many", [cubes, linear, self.times(labels, rate, 3, scale)])
        constant = seal.Plaintext()
        self.encoder.encode(-rate * CUBIC[0], result.parms_id(), scale, constant)
        return self.out("add_plain", result, constant)

    def step(self, batch: list[Any], weights: list[Any]) -> list[Any]:
        """Take one step on ciphertexts: w' = w + η/n Xᵀ(y − s(Xw)).

        A score is a sum over all rotations by multiples of 64, so it is in every slot of its image, ready to meet
        all pixels; the last sum is over the 64 images of a pixel, in the first slot of these.
        """
        *images, labels = batch
        products = [self.out("multiply", x, w) for x, w in zip(images, weights, strict=True)]
        scores = self.summed(self.reduced(self.out("add_many", products)), BATCH, SLOTS)
        scale = self.lost[3] * weights[0].scale / images[0].scale  # so that the change of the weights has theirs
        residuals = self.residuals(scores, labels, scale)
        updated = []
        for x, w in zip(images, weights, strict=True):
            change = self.reduced(self.out("multiply", self.lowered(x, 3), residuals))
            updated.append(self.out("add", self.lowered(w, 4), self.summed(change, 1, BATCH)))
        return updated


def size(paths: list[Path]) -> int:
    """Add up the bytes of files."""
    return sum(path.stat().st_size for path in paths)


def correctness(weights: Tensor, samples: Samples, decrypted: Tensor) -> dict[str, float]:
    """Compare the decrypted weights with the same step in the clear, in double precision; refuse what is wrong."""
    pixels, labels, start = samples.pixels().flatten(1).double(), samples.labels[:, 1].double(), weights.double()
    same, true = (step(start, pixels, labels, sigmoid) for sigmoid in (sigmoid_cubic, torch.sigmoid))
    change = (same - start).abs().max().item()
    error = (decrypted - same).abs().max().item() / change
    if not error < TOLERANCE:
        sys.exit(f"The encrypted step is wrong by {error:.1e} of the largest change; no time is reported for it.")
    return {
        "largest change of a weight": change,
        "error over change": error,
        "tolerance": TOLERANCE,
        "cubic instead of sigmoid, over change": (same - true).abs().max().item() / change,
        "largest score": (pixels @ start).abs().max().item(),  # the cubic is made for 8 at most
    }


def measure_keys(context: Any, folder: Path, rounds: int) -> tuple[Owner, dict[str, Any]]:
    """Make keys, some times over."""
    seconds = side_by_side(rounds, keys=(1, partial(Owner, context, folder)))["keys"]
    owner = Owner(context, folder)
    sizes = {name: size([folder / name]) for name in ("public", "relinearisation", "rotations")}
    return owner, {"seconds": median(seconds), "bytes": sizes}


def measure(rounds: int, folder: Path) -> dict[str, Any]:
    """Take the step in all ways, and count seconds and bytes."""
    kind, many = digits(100 * BATCH)
    samples = many.take(slice(0, BATCH))
    pixels, labels = samples.pixels().flatten(1), samples.labels[:, 1].clone()
    weights = 0.2 * torch.randn(PIXELS, generator=torch.Generator().manual_seed(1))
    context = agreed_context()
    owner, keys = measure_keys(context, folder, 3)
    server = Server(context, folder)
    sent, sent_weights = owner.encrypt_batch(pixels, labels), owner.encrypt_weights(weights)
    batch, encrypted = server.load(sent), server.load(sent_weights)
    returned = server.save(server.step(batch, encrypted))
    found = correctness(weights, samples, owner.decrypt_weights(returned))
    model = torch.nn.Linear(PIXELS, 1, bias=False)
    descent = torch.optim.SGD(model.parameters(), RATE)
    seconds = side_by_side(
        rounds,
        plain=(2000, partial(step, weights, pixels, labels, torch.sigmoid)),
        autograd=(500, partial(autograd_step, model, descent, pixels, labels)),
        hidden=(50, partial(hidden_step, weights, samples)),
        hide_many=(1, lambda: InstaHide(k=4).hide(many, None, secure())),
        encrypt_batch=(1, partial(owner.encrypt_batch, pixels, labels)),
        encrypt_weights=(1, partial(owner.encrypt_weights, weights)),
        server=(1, partial(server.step, batch, encrypted)),
        decrypt_weights=(1, partial(owner.decrypt_weights, returned)),
    )
    return {
        "data": kind,
        "correctness": found,
        "keys": keys,
        "ciphertexts": {"batch": len(sent), "weights": len(sent_weights)},
        "owner": {name: median(seconds[name]) for name in ("encrypt_batch", "encrypt_weights", "decrypt_weights")},
        "steps": steps(seconds, samples, size(sent), size(sent_weights) + size(returned)),
    }


def steps(seconds: dict[str, list[float]], samples: Samples, batch: int, weights: int) -> dict[str, dict[str, float]]:
    """Set the ways beside each other, over plain in the same round; bytes are of what the owner and the server send."""
    encoded = InstaHide(k=4).hide(samples, None, secure())[0].encoded
    plain_bytes, hidden_bytes = samples.images.nbytes + len(samples), encoded.images.nbytes + encoded.labels.nbytes
    owners = ("encrypt_batch", "encrypt_weights", "server", "decrypt_weights")
    ways = {
        "plain": (seconds["plain"], plain_bytes),
        "plain, with autograd": (seconds["autograd"], plain_bytes),
        "hidden": (seconds["hidden"], hidden_bytes),
        "hidden, 100 batches encoded at once": (
            [one / 100 + other for one, other in zip(seconds["hide_many"], seconds["plain"], strict=True)],
            hidden_bytes,
        ),
        "homomorphic, the server alone": (seconds["server"], batch),
        "homomorphic, with the owner's part": (
            [sum(turn) for turn in zip(*(seconds[name] for name in owners), strict=True)],
            batch + weights,
        ),
    }
    return {
        name: {
            "seconds": median(times),
            "over plain": median(a / b for a, b in zip(times, seconds["plain"], strict=True)),
            "bytes": size_of,
            "bytes over plain": size_of / plain_bytes,
        }
        for name, (times, size_of) in ways.items()
    }


def report(found: dict[str, Any]) -> str:
    """Say what was found, and what each way protects against."""
    lines = [f"one step of logistic regression, {BATCH} images of {PIXELS} pixels ({found['data']}), one thread", ""]
    lines.append(f"{'':36}{'seconds':>12}{'over plain':>12}{'bytes':>14}{'over plain':>12}")
    for name, row in found["steps"].items():
        times, sizes = (row["seconds"], row["over plain"]), (row["bytes"], row["bytes over plain"])
        lines.append(f"{name:36}{times[0]:12.2e}{times[1]:12,.1f}{sizes[0]:14,}{sizes[1]:12,.1f}")
    owner, keys, check = found["owner"], found["keys"], found["correctness"]
    key_sizes = ", ".join(f"{name} {count / 1e6:.1f} MB" for name, count in keys["bytes"].items())
    lines += [
        "",
        "homomorphic encryption (CKKS, 128 bits of security)",
        f"  polynomial modulus of degree {DEGREE:,}, coefficient modulus of {sum(BITS)} bits; 218 are allowed",
        f"  keys, once: {keys['seconds']:.2f} s; {key_sizes}",
        f"  the owner's part: encrypting the batch {owner['encrypt_batch']:.3f} s, the weights"
        f" {owner['encrypt_weights']:.3f} s, decrypting them {owner['decrypt_weights']:.3f} s",
        f"  error against the same step in the clear: {check['error over change']:.0e} of the largest change of a"
        f" weight (tolerance {check['tolerance']:.0e})",
        f"  the cubic instead of the sigmoid: {check['cubic instead of sigmoid, over change']:.0e} of it",
        "",
        "what each protects against",
    ]
    for name, words in found["protects"].items():
        lines.append(fill(f"{name}: {words}", 120, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(lines)


def main() -> None:
    """Measure, say it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(3 if asked.quick else 21, Path(folder))
    found = {
        "batch": BATCH,
        "pixels": PIXELS,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "tenseal": tenseal.__version__,
        "security bits": 128,
        "polynomial modulus degree": DEGREE,
        "coefficient modulus bits": list(BITS),
        **found,
        "protects": PROTECTS,
    }
    print(report(found))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
