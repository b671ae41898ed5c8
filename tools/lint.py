"""Run all linters; exit with 1 if any complains."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = [
    ["ruff", "check", "."],
    ["cython-lint", "linalgad"],
    ["codespell", "linalgad", "tests", "benchmarks", "doc", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    ["tools/docstrings.py"],
]


def main():
    """Run each check from the root with the tools of this interpreter."""
    tools = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}     # cython-lint calls pycodestyle
    failed = []
    for name, *args in CHECKS:
        tool = ROOT / name if name.endswith(".py") else tools / name
        command = [sys.executable, str(tool), *args] if name.endswith(".py") else [str(tool), *args]
        if subprocess.run(command, cwd=ROOT, env=env, check=False).returncode:
            failed.append(name)
    if failed:
        print("failed:", ", ".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
