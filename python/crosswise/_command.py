"""The command ``crosswise``, which lies beside the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Become the command."""
    command = Path(__file__).parent / "bin" / "crosswise"
    os.execv(command, ["crosswise", *sys.argv[1:]])


if __name__ == "__main__":
    main()
