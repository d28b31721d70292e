"""The ``rubrica`` command, also as ``python -m rubrica``."""

import gc


def main() -> None:
    """The entry point of the ``rubrica`` script. What is loaded stays, so nobody looks for cycles in it meanwhile."""
    gc.disable()
    from rubrica.cli.app import main as command  # here, since from now on loading takes an eighth less time

    command()


if __name__ == "__main__":
    main()
