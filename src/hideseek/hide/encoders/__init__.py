"""The mechanisms that hide images, one file each."""
