"""Benchmarks: ``compare.py`` against other libraries, ``bench_<stem>.py`` for asv.

The modules here import each other by plain name, so that ``compare.py`` runs as a script from anywhere; the line
below makes the same names work for asv, which imports this folder as a package.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
