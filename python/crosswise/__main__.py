"""``python -m crosswise`` is the command."""

from ._command import main

main()
