"""Live worker processes and the interleaved rounds in which they are timed."""

import multiprocessing
import os
import time

import _peers
import _worker

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
#: these change OpenBLAS's kernels, for the worse for some libraries; every library gets its own choice
UNSET_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
START_SECONDS = 120
#: idle threads of the process timed before spin for a while and would be measured with the next
PAUSE_SECONDS = 0.05


def set_environment(threads):
    """Thread counts for all the processes started from now on."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    for variable in UNSET_VARIABLES:
        os.environ.pop(variable, None)


class Worker:
    """One library in a process of its own; it is started again after a crash or a time-out."""

    def __init__(self, name, threads, verbose=False):
        self.name, self._threads, self._verbose = name, threads, verbose
        self._process = self._conn = None
        self.info = self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._conn, theirs = context.Pipe()
        arguments = (theirs, self.name, self._threads, self._verbose)
        self._process = context.Process(target=_worker.serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        return self._receive(START_SECONDS)

    def _receive(self, seconds):
        try:
            if self._conn.poll(max(seconds, 0)):
                return self._conn.recv()
            error = "timeout"
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            error = f"crashed (exit code {self._process.exitcode})"
        self.stop()
        return {"error": error}

    def ask(self, kind, limit, **arguments):
        """Send one message and return the answer, a dict that has ``error`` when there is none in ``limit`` seconds."""
        if self._process is None:
            started = self._start()
            if "error" in started:
                return started
        self._conn.send((kind, arguments))
        return self._receive(limit)

    def stop(self):
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._conn.close()
            self._process = None


def run_case(workers, case, *, rounds, turn_seconds, time_limit):
    """Time one case in all workers, a turn each and again from the start.

    Returns name -> {"seconds": shortest call, "rounds": the shortest of each round} or {"error": words}. A worker
    that has used up ``time_limit`` keeps what it has and gets no further turn.
    """
    cells, spent = {}, {}
    for worker in workers:
        if case["op"] not in worker.info["ops"] or (case["vjp"] and not worker.info["vjp"]):
            continue
        start = time.perf_counter()
        answer = worker.ask("prepare", time_limit, **case)
        spent[worker.name] = time.perf_counter() - start
        cells[worker.name] = {"rounds": []} | answer
    for _ in range(rounds):
        for worker in workers:
            cell = cells.get(worker.name)
            left = time_limit - spent.get(worker.name, 0)
            if cell is None or "error" in cell or (left <= 0 and cell["rounds"]):
                continue
            time.sleep(PAUSE_SECONDS)
            start = time.perf_counter()
            answer = worker.ask("time", max(left, turn_seconds), seconds=turn_seconds)
            spent[worker.name] += time.perf_counter() - start
            if "seconds" in answer:
                cell["rounds"].append(answer["seconds"])
            elif not cell["rounds"]:
                cell["error"] = answer["error"]
            else:
                spent[worker.name] = time_limit
    for cell in cells.values():
        if "error" not in cell:
            cell["seconds"] = min(cell["rounds"])
    return cells


def start_workers(names, threads, verbose=False):
    """Workers that could be started, and the reasons for those that could not."""
    workers, absent = [], {}
    for name in names:
        if not _peers.installed(name):
            absent[name] = "not installed"
            continue
        worker = Worker(name, threads, verbose)
        if "error" in worker.info:
            absent[name] = worker.info["error"]
        else:
            workers.append(worker)
    return workers, absent
