"""Where the files of this package are, and which version they are."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent / "lib"
VERSION = (pathlib.Path(__file__).resolve().parent / "VERSION").read_text().strip()


def library():
    """The path of Verdigris's libcuda.so.1."""
    return str(FOLDER / "libcuda.so.1")


def command():
    """The path of the `verdigris` program."""
    return str(FOLDER / "verdigris")
