"""The options of `hideseek audit updates`, in groups."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tyro.conf import arg

from hideseek.cli.audit_options import UNDESCRIBED, Accuracies, Attacking, Images, Output
from hideseek.cli.gate import Gate
from hideseek.records.update_encoder import Mode, Sent


def _unset(metavar: str) -> Any:
    """Describe an option that is left out by default, without a default in its help."""
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Client:
    """What clients share."""

    model: Annotated[str, arg(metavar="NAME|FILE")] = "convnet"
    """An architecture, freshly initialised, or a model that `hideseek learn` wrote; or several states of one
    architecture, with commas between, to see what training changes."""
    defence: Annotated[str, arg(metavar="CHAINS")] = "none"
    """Chains of defences, with + in a chain and commas between chains; each chain is audited."""
    batch: Annotated[int, arg(metavar="N")] = 16
    """Images of a gradient."""
    local_steps: Annotated[int, arg(metavar="N")] = 1
    """Gradients that a client steps by before it sends; more than one: it sends weights."""
    local_epochs: Annotated[int, arg(metavar="N")] = 1
    """How often it sees its images before it sends."""
    rate: Annotated[float, arg(metavar="RATE")] = 0.01
    """The learning rate of local steps."""
    sends: Annotated[Sent | None, _unset("WHAT")] = None
    """The gradient, or the weights after local steps; by default weights after several."""
    mode: Annotated[Mode, arg(metavar="MODE")] = "train"
    """Batch norm takes the statistics of the batch (train), or running ones (eval)."""
    epochs: Annotated[str | None, _unset("N,…")] = None
    """Train the model first, on the private images, and audit its state after each of these epochs: 0,1,5,20."""
    train: Annotated[str | None, _unset("ADDRESS")] = None
    """Train it on these images instead."""


@dataclass(frozen=True)
class UpdateImages:
    """The images."""

    data: Annotated[str, arg(metavar="ADDRESS")]
    """Private images with labels: folder:, dicom: or npz:PATH, or a name (see `hideseek data`)."""
    own: Annotated[str | None, _unset("ADDRESS")] = None
    """Images that the attacker has; by default photographs. Like ones make him stronger."""
    sample: Annotated[int | None, _unset("N")] = None
    """Share and attack only so many images, always the same ones, or by --seed; accuracy is of all."""
    size: Annotated[int | None, _unset("PIXELS")] = None
    """Resize and centre-crop every image to this side."""
    channels: Annotated[Literal[1, 3] | None, _unset("1|3")] = None
    """Make every image grey (1) or RGB (3)."""
    label_column: Annotated[str | None, _unset("NAME")] = None
    """Take labels from this column of a labels.csv, or of an npz with several an image."""
    normalise: Annotated[Literal["channel", "image", "none"] | None, _unset("HOW")] = None
    """By channel (the default), by image, or none; a model's file has its own."""

    def images(self, how: Any) -> Images:
        """Give them as options of any audit, normalised in some way."""
        return Images(
            self.data,
            own=self.own,
            sample=self.sample,
            size=self.size,
            channels=self.channels,
            label_column=self.label_column,
            normalise=how,
        )


@dataclass(frozen=True)
class UpdateAttacking:
    """What is attacked, and for how long."""

    rounds: Annotated[int, arg(metavar="N")] = 1
    """Rounds, in each of which every image is in one update; attackers see all of them."""
    attacks: Annotated[str, arg(metavar="NAMES")] = "all"
    """The attacks to run, with commas between, or all that are on updates."""
    budget: Annotated[str, arg(metavar="TIME")] = "10m"
    """How long the audit may work, about: 90s, 10m, 2h; beside other work it may last 4 times as long."""
    seed: Annotated[int | None, _unset("N")] = None
    """For studies: draw everything from this number, keys too."""

    def attacking(self) -> Attacking:
        """Give them as options of any audit."""
        return Attacking(self.rounds, self.attacks, self.budget, self.seed)


@dataclass(frozen=True)
class AuditUpdates:
    """Share updates of a model as clients of federated learning do, attack them, and write one page on what leaks.

    In every round each image is in one update: the gradient of a batch, or what local steps changed in the weights.
    Attacks count after they have recovered something from undefended gradients of single images, and nothing from
    noise. Whether the model is trained matters: a name is an untrained one, a file that `hideseek learn` wrote a
    trained one, and the report says which; --epochs 0,1,5,20 trains the model on the private images, and shows what
    leaks over epochs as a curve; --model lenet,early/model.safetensors,late/model.safetensors audits states that you
    have. Defences are done in the order in which they are named, after an encoding, if there is
    one: gradient-pruning:p=0.9+intra-instahide:k=4 encodes images, takes the gradient, and prunes it. mixup has
    weights of 0.65 at most here, as in the literature on gradients; mixup:largest=1 has any.

    Try:  hideseek audit updates --model lenet --batch 1 --data faces --out audit
          hideseek audit updates --model lenet --defence none,gradient-pruning:p=0.99,gradient-noise:noise=0.01
              --batch 8 --data faces --budget 5m --out audit
          hideseek audit updates --model lenet --epochs 0,1,5,20 --batch 4 --data faces --budget 5m --out audit
          hideseek audit updates --model trained/model.safetensors --defence intra-instahide:k=4 --batch 16
              --local-steps 4 --rounds 20 --data cifar10 --sample 160 --no-learn --out audit
    """

    client: Annotated[Client, arg(name="client", help="")]
    images: Annotated[UpdateImages, UNDESCRIBED]
    output: Annotated[Output, UNDESCRIBED]
    attacking: Annotated[UpdateAttacking, arg(name="attack", help="")] = field(default_factory=UpdateAttacking)
    accuracies: Annotated[Accuracies, arg(name="accuracy", help="")] = field(default_factory=Accuracies)
    gate: Annotated[Gate, UNDESCRIBED] = field(default_factory=Gate)
