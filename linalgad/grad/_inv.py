"""Derivatives of inv and inv_ex: products with the inverse that was returned, no further solve."""
from . import _factored as factored
from . import _xp as xp
from ._forward import public
from ._program import program
from ._table import Capability, Record, register


def _inv_forward(args, kw):
    return (public("inv")(args[0], **kw),), None


def _inv_ex_forward(args, kw):
    x, info = public("inv_ex")(args[0], **kw)
    factored.refuse_failed("inv_ex", info)
    return (x, info), None


def _jvp(call, tangents):
    """dX = -X dA X."""
    x = call.outputs[0]
    return (-xp.matmul(xp.matmul(x, tangents[0]), x), *(None for _ in call.outputs[1:]))


@program
def inv_cotangent(gx, x):
    """gA = -X^H gX X^H."""
    return -xp.outer(xp.inner(x, gx), x)


def _vjp(call, cotangents, needs):
    if cotangents[0] is None:
        return (None,), None
    return (inv_cotangent(cotangents[0], call.outputs[0]),), None


def _ex_result(outputs, kw):
    from .._lib._results import InvExResult
    return InvExResult(*outputs)


register(Record(
    name="inv", forward=_inv_forward, jvp=_jvp, vjp=_vjp, sliced=True, programmed=True,
    capabilities=(Capability("inverse"),),
))
register(Record(
    name="inv_ex", forward=_inv_ex_forward, jvp=_jvp, vjp=_vjp, pack=_ex_result, sliced=True, programmed=True,
    capabilities=(Capability("inverse"),
                  Capability("info", jvp=False, vjp=False, second_order=False, caveat="a status code is constant")),
))
