"""The rules by name: `svd_jvp`, `svd_vjp`, ... made from the table.

They never factor what the forward's results hold. Those of a function that returns no factors (det, solve, eigvals)
factor once, unless `aux` is what the forward kept.
"""
from ._apply import _cotangents, _finish, _leaves, _match
from ._policy import Options, judge
from ._table import Call, load, lookup


def _call(record, args, outputs, aux, kw, opt):
    outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
    flat, places = _leaves(args)
    if aux is None:
        aux = record.forward(flat, kw)[1] if record.remember is None else record.remember(flat, outputs, kw)
    return Call(flat, outputs, aux, kw, opt), places


def _jvp_rule(name):
    def rule(args, outputs, tangents, *, aux=None, **kw):
        opt, kw = Options.split(kw)
        record = lookup(name, kw, len(args))
        call, _ = _call(record, args, outputs, aux, kw, opt)
        return record.pack(record.jvp(call, _match(tangents, args, call.args, "tangents")), kw)
    rule.__name__ = rule.__qualname__ = name + "_jvp"
    rule.__doc__ = f"""Tangents of the outputs of `{name}` from its arguments, outputs and the arguments' tangents.

    The rule of the table on results that are already there: nothing is factored, except where they hold no factors
    and none are given as `aux`. Keywords are those of `{name}` and of `linalgad.grad.jvp`.
    """
    return rule


def _vjp_rule(name):
    def rule(args, outputs, cotangents, *, aux=None, **kw):
        opt, kw = Options.split(kw)
        record = lookup(name, kw, len(args))
        call, _ = _call(record, args, outputs, aux, kw, opt)
        needs = tuple(i in record.inexact for i in range(len(call.args)))
        grads, info = record.vjp(call, _cotangents(record, call.outputs, cotangents), needs)
        judge(name, info, opt)
        return tuple(_finish(g, x) if need else None for g, x, need in zip(grads, call.args, needs, strict=True))
    rule.__name__ = rule.__qualname__ = name + "_vjp"
    rule.__doc__ = f"""Cotangents of the arguments of `{name}` from its arguments, outputs and the outputs' cotangents.

    The rule of the table on results that are already there: nothing is factored, except where they hold no factors
    and none are given as `aux`. Keywords are those of `{name}` and of `linalgad.grad.vjp`.
    """
    return rule


def rules():
    """All rules by name."""
    out = {}
    for name in load():
        out[name + "_jvp"] = _jvp_rule(name)
        out[name + "_vjp"] = _vjp_rule(name)
    return out
