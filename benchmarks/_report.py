"""Tables, geometric means, the description of the machine, and the figure."""

import math
import os
import platform
from collections import defaultdict
from pathlib import Path

from _peers import OURS, PEERS

SIMD_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "asimd", "sve")
ERROR_WIDTH = 11
#: load average above which something else competes for the CPUs
BUSY_LOAD = 1.0


def machine():
    """CPU model, SIMD flags, CPUs this process may use, and Python."""
    model, flags = platform.processor() or platform.machine(), set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip() in ("flags", "Features"):
                flags |= set(value.split())
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": model,
        "simd": [flag for flag in SIMD_FLAGS if flag in flags],
        "cpus": cpus,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def describe(report):
    """Lines that say where and with what the numbers were taken."""
    about = report["machine"]
    lines = [
        f"suite {report['suite']}, {report['threads']} threads each, shortest of {report['rounds']} interleaved rounds",
        f"{about['cpu']}, {about['cpus']} CPUs, {' '.join(about['simd'])}, {about['system']}, Python {about['python']}",
    ]
    if about["load"] is not None:
        busy = about["load"] > BUSY_LOAD
        warning = ": the machine is busy, do not trust these numbers" if busy else ""
        lines.append(f"load average at the start {about['load']:.1f}{warning}")
    for name, info in report["libraries"].items():
        blas = info.get("blas")
        parts = [f"{name} {info['version']}"]
        if isinstance(blas, dict):
            parts.append(f"built with {blas['name']} {blas['version']}")
        elif blas:
            parts.append(blas)
        for pool in info.get("pools", []):
            words = (pool["internal_api"], pool["version"], pool["architecture"], f"{pool['num_threads']} threads")
            parts.append(" ".join(word for word in words if word))
        if "MKL" in info.get("config", "") and not any("mkl" in part for part in parts):
            parts.append("MKL")
        lines.append(", ".join(parts))
    lines += [f"{name}: left out ({reason})" for name, reason in report["absent"].items()]
    return lines


def fastest(row):
    """Name and seconds of the fastest peer of a row, or None."""
    times = {name: cell["seconds"] for name, cell in row["cells"].items() if name != OURS and "seconds" in cell}
    return min(times.items(), key=lambda item: item[1]) if times else None


def ratio(row, peer=None):
    """Time of a peer (default the fastest) by ours; above one we are faster. None when either is missing."""
    ours = row["cells"].get(OURS, {}).get("seconds")
    if peer is None:
        best = fastest(row)
        theirs = best and best[1]
    else:
        theirs = row["cells"].get(peer, {}).get("seconds")
    return theirs / ours if ours and theirs else None


def _cell_text(row, name):
    cell = row["cells"].get(name)
    if cell is None:
        return "-"
    if "seconds" in cell:
        microseconds = 1e6 * cell["seconds"] / row["matrices"]
        digits = max(0, 2 - math.floor(math.log10(microseconds)))
        return f"{microseconds:.{digits}f}"
    words = cell["error"].split(":")[0].split(" (")[0]
    return words[:ERROR_WIDTH]


def table(rows, names):
    """Microseconds for each matrix, a line a row; the fastest peer and its ratio to ours at the end."""
    columns = [name for name in (OURS, *PEERS) if name in names]
    widths = {name: max(ERROR_WIDTH, len(name)) for name in columns}
    head = f"{'op':<17}{'dtype':<11}{'shape':>17}" + "".join(f"{name:>{widths[name] + 1}}" for name in columns)
    lines = [f"{head}   {'fastest':<9}{'ratio':>6}", f"{'(us each)':<45}"]
    for row in rows:
        shape = "x".join(map(str, row["shape"]))
        line = f"{row['op']:<17}{row['dtype']:<11}{shape:>17}"
        line += "".join(f"{_cell_text(row, name):>{widths[name] + 1}}" for name in columns)
        times = [(row["cells"][name]["seconds"], name) for name in columns if "seconds" in row["cells"].get(name, {})]
        winner = min(times)[1] if times else "-"
        value = ratio(row)
        lines.append(f"{line}   {winner:<9}" + (f"{value:6.2f}" if value else f"{'-':>6}"))
    return lines


def errors(rows):
    """Collect what stands behind the one word in the table's cells, each message once."""
    seen = defaultdict(list)
    for row in rows:
        for name, cell in row["cells"].items():
            if "error" in cell:
                seen[name, cell["error"]].append(f"{row['op']} {'x'.join(map(str, row['shape']))} {row['dtype']}")
    return [
        f"{name}: {message} [{', '.join(where[:4])}{', ...' if len(where) > 4 else ''}]"
        for (name, message), where in seen.items()
    ]


def geometric_mean(values):
    """Geometric mean of positive numbers."""
    return 2 ** (math.fsum(map(math.log2, values)) / len(values))


def means(rows, key, label):
    """Lines with the geometric mean, and the least, of the ratios that share a value of ``key``."""
    groups = defaultdict(list)
    for row in rows:
        value = ratio(row)
        if value:
            groups[key(row)].append((value, row["op"]))
    lines = [f"{label:<18}{'geom. mean':>11}{'least':>8}  of"] if groups else []
    for group, pairs in groups.items():
        least, op = min(pairs)
        average = geometric_mean([value for value, _ in pairs])
        lines.append(f"{group!s:<18}{average:11.2f}{least:8.2f}  {op} ({len(pairs)} rows)")
    return lines


def summary(rows):
    """Geometric means of the ratios by dtype, by size and by op."""
    lines = []
    for label, key in (
        ("dtype", lambda row: row["dtype"]),
        ("shape", lambda row: "x".join(map(str, row["shape"][-2:]))),
        ("op", lambda row: row["op"]),
    ):
        block = means(rows, key, label)
        lines += ["", *block] if block else []
    return lines


def figure(report, path):
    """Speed-up over each peer against n, a curve a peer, a panel an op (and dtype)."""
    from matplotlib.figure import Figure

    panels = defaultdict(lambda: defaultdict(list))
    for row in report["rows"]:
        for peer in PEERS:
            value = ratio(row, peer)
            if value:
                panels[row["op"], row["dtype"]][peer].append((row["shape"][-1], value))
    if not panels:
        raise SystemExit("no row has both a peer and linalgad: there is nothing to draw")
    columns = min(4, len(panels))
    lines = math.ceil(len(panels) / columns)
    fig = Figure(figsize=(3.4 * columns, 2.6 * lines), layout="constrained")
    axes = fig.subplots(lines, columns, sharex=True, squeeze=False)
    for ax, ((op, dtype), curves) in zip(axes.flat, panels.items(), strict=False):
        for peer in PEERS:
            if curves[peer]:
                x, y = zip(*sorted(curves[peer]), strict=True)
                ax.plot(x, y, "o-", ms=3, lw=1.2, color=f"C{PEERS.index(peer)}", label=peer)
        ax.axhline(1, color="0.4", lw=0.8, ls="--")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_title(f"{op}, {dtype}", fontsize=9)
        ax.tick_params(labelsize=7)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax in axes[-1]:
        ax.set_xlabel("n", fontsize=8)
    handles = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8)
    fig.supylabel("speed-up (time of the peer / ours)", fontsize=9)
    fig.savefig(path, dpi=150)
