"""`python -m palimpsest`: the same as the command `palimpsest`."""

from palimpsest.cli.start import main

if __name__ == "__main__":
    main()
