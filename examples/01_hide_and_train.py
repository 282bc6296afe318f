"""Hide the embedded faces, train on what was hidden, and ask the model, plainly and hidden."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hideseek.chance import secure
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.files.release_files import read_release, write_release
from hideseek.learn import Plain, Reencoded, accuracy, learn, predict
from hideseek.train.trained import read_model, write_model
from hideseek.train.training import automatic

faces = normalise(load("faces"), "channel")  # mean 0 and deviation 1
private, test = faces.take(slice(0, None, 2)), faces.take(slice(1, None, 2))
training = replace(automatic(len(private)), epochs=10)  # a taste: by itself it would choose a hundred

# The owner hides: two images in each row, under a one-time mask of signs. What the folder holds, an attacker sees.
scheme = InstaHide(k=2)
with TemporaryDirectory() as folder:
    write_release(scheme, private, None, secure(), Path(folder) / "hidden")
    release = read_release(Path(folder) / "hidden")
print(f"{len(release.encoded)} encodings; the label of the first, {release.encoded.labels[0].tolist()}, is public")

# The server learns from the release and nothing else; the network looks at |x|, since signs are coin flips.
learnt = learn(Plain.of(release), "small-resnet-masked", training, test=test)
print(f"trained on the release: {learnt.history[-1]['test_accuracy']:.0%} of new images right")

# A party that trains itself hides anew for every epoch, under fresh keys: more to learn from, more to attack.
anew = learn(Reencoded(private, scheme), "small-resnet-masked", training)
print(f"hidden anew each epoch: {accuracy(predict(anew.trained, test), test.labels):.0%}")

# Asking without showing: ten encodings of each image, mixed with the party's own training images.
hidden = predict(anew.trained, test, encoder=scheme, pool=private, times=10)
print(f"asked about encodings:  {accuracy(hidden, test.labels):.0%}")

# A model is one safetensors file that knows its classes, its images' shape and how they were normalised.
with TemporaryDirectory() as folder:
    write_model(Path(folder) / "model.safetensors", anew.trained)
    again, _ = read_model(Path(folder) / "model.safetensors")
assert predict(again, test).argmax(1).equal(predict(anew.trained, test).argmax(1))
