"""Policy of lanes, BLAS threads and memory; the mechanism is in _kernels/_lanes.pyx and _pool.pyx."""
import contextlib
import contextvars
import math
import os
from pathlib import Path

from .._kernels import _lanes, _pool
from ._blas import thread_control
from ._results import WorkspaceInfo
from ._tiers import OPS, REGION_NS, WIDE_EFFICIENCY
from ._validate import check_lanes

_lanes_var = contextvars.ContextVar("linalgad_lanes", default=None)


def _cgroup_cpus():
    """CPUs that the control group's quota amounts to, or infinity."""
    for path, parse in (("/sys/fs/cgroup/cpu.max", str.split),
                        ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
                         lambda q: [q.strip(), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text()])):
        try:
            quota, period = parse(Path(path).read_text())
            if quota != "max" and int(quota) > 0:
                return max(1, math.ceil(int(quota) / int(period)))
        except (OSError, ValueError):
            continue
    return math.inf


def usable_cpus():
    """CPUs this process may use: affinity mask and control group."""
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:
        cpus = os.cpu_count() or 1
    return int(min(cpus, _cgroup_cpus()))


def default_lanes():
    """LINALGAD_LANES, else the usable CPUs, at most OMP_NUM_THREADS where that is set."""
    named = os.environ.get("LINALGAD_LANES", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    cpus = usable_cpus()
    omp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(cpus, int(omp)) if omp.isdecimal() and int(omp) > 0 else cpus


def set_lanes(n):
    """Set how many lanes calls use by default.

    Parameters
    ----------
    n : int or None
        Number of lanes; None returns to the default (see `get_lanes`).
    """
    _lanes.set_default_lanes(default_lanes() if n is None else check_lanes("set_lanes", n))


def get_lanes():
    """Return the number of lanes a call uses at most.

    Returns
    -------
    int
        The number set by the enclosing `lanes` block or by `set_lanes`; else ``LINALGAD_LANES``; else
        the CPUs the process may use (affinity, control group, ``OMP_NUM_THREADS``).
    """
    n = _lanes_var.get()
    return _lanes.get_default_lanes() if n is None else n


@contextlib.contextmanager
def lanes(n):
    """Use `n` lanes for the calls of a block, in this thread or task only.

    Parameters
    ----------
    n : int
        Number of lanes, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> with la.lanes(1):
    ...     la.det(np.eye(3))
    np.float64(1.0)
    """
    token = _lanes_var.set(check_lanes("lanes", n))
    try:
        yield
    finally:
        _lanes_var.reset(token)


def workspace_info():
    """Return the state of the pool of workspaces and large results.

    Returns
    -------
    WorkspaceInfo
        Bytes and slabs waiting in the pool, bytes in use by running calls, without those of results, the
        limit on waiting bytes (256 MiB, or the environment variable ``LINALGAD_WORKSPACE_LIMIT`` in
        bytes), and how many requests the pool served (`hits`) or passed to the system (`misses`).
    """
    return WorkspaceInfo(**_pool.state())


def clear_workspace():
    """Return the memory waiting in the pool to the system."""
    _pool.clear()


def _configure():
    control = thread_control()
    if control is not None:
        _lanes.set_blas_control(*control)
    _lanes.set_tiers(list(OPS.values()), REGION_NS, WIDE_EFFICIENCY)
    _lanes.set_lanes_var(_lanes_var)
    _lanes.set_default_lanes(default_lanes())
    limit = os.environ.get("LINALGAD_WORKSPACE_LIMIT", "")
    if limit.isdecimal():
        _pool.set_limit(int(limit))


_configure()
