"""The program: `lane`, and `python -m lane`."""

import sys


def main() -> int:
    """Runs the command line of this process. Ctrl-C while it is still being imported ends it as later."""
    try:
        from lane.cli import main

        return main()
    except KeyboardInterrupt:
        from lane.errors import ExitCode

        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
