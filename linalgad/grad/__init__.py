"""Derivatives of linalgad's functions: forward, reverse and second order.

`jvp`, `vjp`, `hvp` differentiate a function; ``NAME_jvp`` and ``NAME_vjp`` are the rules themselves on
results that are already there; `check_grads` compares them with finite differences; `capabilities` says
what is differentiable; `project_cotangent` removes what depends on the gauge.
"""
from . import _xp as xp
from ._apply import hvp, jvp, lift, vjp
from ._capabilities import capabilities
from ._check import GradientMismatch, check_grads, project_cotangent
from ._named import rules as _rules
from ._policy import GaugeError, GaugeWarning, Info, NotDifferentiableError

globals().update(_rules())

__all__ = [
    "GaugeError", "GaugeWarning", "GradientMismatch", "Info", "NotDifferentiableError", "capabilities", "check_grads",
    "hvp", "jvp", "lift", "project_cotangent", "vjp", "xp", *_rules(),
]
