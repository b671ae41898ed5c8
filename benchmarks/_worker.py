"""The process in which one library lives: it prepares a case, then times it whenever the parent says so."""

import os
import time

SAMPLE_SECONDS = 0.005


def _limit_cpus(threads):
    """Keep this process on as many CPUs as it has threads: JAX sizes its pool by this and by nothing else."""
    if hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cpus[:threads])


def _silence():
    """Send what native code prints (MKL reports each wrong argument) to nowhere: the exception says it too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _tuple(outputs):
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def _words(exception):
    """First line of an exception's message, short enough for a table cell."""
    lines = str(exception).strip().splitlines()
    first = lines[0] if lines else ""
    return f"{type(exception).__name__}: {first}"[:160]


class Case:
    """One op on one stack of matrices, ready to be called again and again."""

    def __init__(self, peer, op, shape, dtype, vjp):
        import inputs
        import numpy as np

        arrays = inputs.make(op, tuple(shape), dtype)
        native = tuple(peer.convert(x) for x in arrays)
        fun = peer.ops[op]
        if vjp:
            outputs = tuple(peer.to_numpy(x) for x in _tuple(fun(*native)))
            cts = inputs.cotangents(outputs)
            self._fun = peer.vjp(op, native, tuple(None if ct is None else peer.convert(ct) for ct in cts))
            self._args = ()
        else:
            self._fun, self._args = fun, native
        self._wait = peer.wait
        first = peer.wait(self._fun(*self._args))
        if not vjp and not all(np.isfinite(peer.to_numpy(x)).all() for x in _tuple(first)):
            raise FloatingPointError("the result is not finite")
        self.loops = 1
        seconds = self._sample()
        while seconds < SAMPLE_SECONDS and self.loops < 1_000_000:
            self.loops = max(2 * self.loops, int(self.loops * SAMPLE_SECONDS / max(seconds, 1e-9)))
            seconds = self._sample()

    def _sample(self):
        fun, args, wait, repeats = self._fun, self._args, self._wait, range(self.loops)
        start = time.perf_counter()
        for _ in repeats:
            wait(fun(*args))
        return time.perf_counter() - start

    def best(self, seconds):
        """Shortest time of one call among samples that together take about ``seconds``."""
        end = time.perf_counter() + seconds
        best = self._sample()
        while time.perf_counter() < end:
            best = min(best, self._sample())
        return best / self.loops


def _thread_pools():
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    keys = ("user_api", "internal_api", "version", "architecture", "num_threads")
    return [{key: pool.get(key) for key in keys} for pool in threadpool_info()]


def serve(conn, name, threads, verbose):
    """Answer ``describe``, ``prepare`` and ``time`` messages until ``None`` arrives."""
    if not verbose:
        _silence()
    _limit_cpus(threads)
    from _peers import LOADERS

    peer = case = None

    def load():
        nonlocal peer
        peer = LOADERS[name](threads)
        return {"version": peer.version, "ops": list(peer.ops), "vjp": peer.vjp is not None}

    def prepare(**arguments):
        nonlocal case
        case = None  # its arrays are freed before the next one's are made
        case = Case(peer, **arguments)
        return {}

    answers = {
        "prepare": prepare,
        "time": lambda **arguments: {"seconds": case.best(**arguments)},
        "describe": lambda: {**peer.details, "pools": _thread_pools()},
    }
    conn.send(_attempt(load))
    while peer is not None and (message := conn.recv()) is not None:
        kind, arguments = message
        conn.send(_attempt(answers[kind], **arguments))


def _attempt(fun, **arguments):
    """What ``fun`` returns, or the error for the table, so that the run goes on."""
    try:
        return fun(**arguments)
    # The errors of five libraries and of their loading have no other base in common; the table shows each.
    except Exception as exception:
        return {"error": _words(exception)}
