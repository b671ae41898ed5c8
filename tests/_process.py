"""Code in a process of its own: what an import, a fork or a signal does must not touch the suite's."""
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading

PRELUDE = """
import os, sys, threading, time
import numpy as np
import linalgad as la
from linalgad._kernels import _lanes
"""

TIMEOUT = 120.0     # seconds after which a child counts as hanging, on a machine however busy


@contextlib.contextmanager
def start(code, prelude=PRELUDE, **env):
    """A child that runs the code, with its output in a pipe; killed if it hangs."""
    environ = {k: v for k, v in os.environ.items() if k not in ("LINALGAD_LANES", "OMP_NUM_THREADS")} | env
    with subprocess.Popen([sys.executable, "-P", "-c", prelude + textwrap.dedent(code)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True) as child:
        # With its own children: a forked one that hangs would keep the pipes open.
        watchdog = threading.Timer(TIMEOUT, os.killpg, (child.pid, signal.SIGKILL))
        watchdog.start()
        try:
            yield child
        finally:
            watchdog.cancel()
            watchdog.join()


def run(code, prelude=PRELUDE, **env):
    """The words that the code prints; a hang or a failure fails the test."""
    with start(code, prelude, **env) as child:
        out, err = child.communicate()
    assert child.returncode == 0, (child.returncode, err[-2000:])
    return out.split()
