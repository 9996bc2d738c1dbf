"""The program: `lane`, and `python -m lane`. Nothing is imported before `main`: until then Ctrl-C gives a traceback."""

import sys


def main() -> int:
    """Runs the command line of this process. Ctrl-C while it is being imported, or leaves, ends it as later, without a
    word: modules that are half made, or half gone, are no place for an exception."""
    try:
        import signal

        is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from lane.cli import main

        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return main()
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return 130  # ExitCode.INTERRUPTED; an import would be no safer here than above


if __name__ == "__main__":
    sys.exit(main())
