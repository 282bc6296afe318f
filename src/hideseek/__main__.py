"""`python -m hideseek` is `hideseek`."""

import sys

from hideseek.cli import main

sys.exit(main())
