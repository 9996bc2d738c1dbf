"""`python -m lane`: the command line."""

import sys

from lane.cli import main

if __name__ == "__main__":
    sys.exit(main())
