"""``python -m pioneers`` is the command ``pioneers``; ``torchrun -m pioneers`` starts it several times."""

import sys

from pioneers.cli import main

sys.exit(main())
