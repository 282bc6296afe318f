"""Hide the embedded faces, write the release, read it back, and look at what an outsider gets."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.release_files import read_release, write_release
from hideseek.randomness import secure

private = normalise(load("faces"), "channel")  # mean 0 and deviation 1
public = normalise(load("photos", size=25, channels=1, labelled=False), private.normalisation)

# In memory: two private and two public images in each row, under a one-time mask of signs.
scheme = InstaHide(k=4, k_private=2)
release, secret = scheme.hide(private, public, secure())
print(f"{len(release.encoded)} encodings of {release.encoded.shape}")
print(f"row 0 hides images {secret.sources[0].tolist()}, which only the secret knows")
print(f"its label, {release.encoded.labels[0].tolist()}, shows their weights to everyone")

# On disk, in bounded memory: what the folder holds is what an attacker sees.
with TemporaryDirectory() as folder:
    out = Path(folder) / "hidden"
    write_release(scheme, private, public, secure(), out)
    print(sorted(path.name for path in out.iterdir()))
    again = read_release(out)
    assert again.encoded.images.shape == release.encoded.images.shape
    assert not (again.encoded.images == release.encoded.images).all(), "every call uses fresh keys"
