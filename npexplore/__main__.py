"""`python -m npexplore` is the command `npexplore`."""

import sys

from npexplore.cli import main

if __name__ == "__main__":
    sys.exit(main())
