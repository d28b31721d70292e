"""The ``rubrica`` command, also as ``python -m rubrica``."""

import atexit
import gc
import os
import sys


def main() -> None:
    """The entry point of the ``rubrica`` script. What is loaded stays, so nobody looks for cycles in it meanwhile."""
    code = 1  # of an error that nobody expected

    def end() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)

    atexit.register(end)  # before all others, so that it comes last: Python would free what is loaded piece by piece
    gc.disable()
    from rubrica.cli.app import main as command  # here, since from now on loading takes an eighth less time

    try:
        command()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        raise
    except KeyboardInterrupt:
        code = 130
        raise


if __name__ == "__main__":
    main()
