"""``python -m rubrica`` is the ``rubrica`` command."""

from rubrica.cli.app import main

if __name__ == "__main__":
    main()
