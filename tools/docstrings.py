"""Check the docstrings of all public functions with numpydoc."""
import sys

from numpydoc.validate import validate

import linalgad
import linalgad.grad

# What is optional here: extended summaries, "See Also" and examples for every function, capitals in short
# descriptions. The rules `*_jvp` and `*_vjp` state equations in place of parameter lists.
IGNORED = {"ES01", "GL01", "GL02", "GL03", "GL08", "SA01", "SA03", "SA04", "EX01", "PR01", "PR02", "RT02", "RT03",
           "RT04", "SS06", "YD01"}


def main():
    """Print what numpydoc finds wrong."""
    bad = 0
    for module in (linalgad, linalgad.grad):
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or name.endswith(("_jvp", "_vjp")):
                continue
            for code, text in validate(f"{module.__name__}.{name}")["errors"]:
                if code not in IGNORED:
                    print(f"{module.__name__}.{name}: {code} {text}")
                    bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
