"""Hide images before they are shared, learn from what was hidden, and know what leaks before you share it."""

import os

# Threads that wait for each other shall spin for a moment, then sleep: beside other trainings on the same cores, those
# that spin on can take the processor from those that they wait for. It counts only before torch is loaded, and what the
# user has set is kept.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
