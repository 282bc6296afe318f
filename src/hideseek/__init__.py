"""Hide images before they are shared, learn from what was hidden, and know what leaks before you share it."""

import os

# Threads that wait for each other shall spin for a moment, then sleep. By default they spin on, and beside two other
# processes on two cores a step of training took 1.37 s instead of 0.05 s; on a quiet machine both take 0.02 s. It
# counts only before torch is loaded, and what the user has set is kept.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
