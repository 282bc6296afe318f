"""Hide images before they are shared, learn from what was hidden, and know what leaks before you share it."""

import os

# Threads that wait for each other shall sleep, not spin: beside other work on the same cores, spinning makes training
# ten to eighty times slower. It counts only before torch is loaded, and what the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
