"""The `verdigris` command: `verdigris run python program.py`, `python -m verdigris info`."""

import os
import sys

from verdigris import _files


def main():
    os.execv(_files.command(), ["verdigris", *sys.argv[1:]])


if __name__ == "__main__":
    main()
