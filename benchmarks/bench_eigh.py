"""Hermitian eigenvalue problem."""

from _asv import Single, Stack

import linalgad as la


class EighStack(Stack):
    """eigh of a stack."""

    op = "eigh"

    def time_eigh(self, n, dtype):
        """Time one call."""
        la.eigh(*self.args)


class EigvalshStack(Stack):
    """eigvalsh of a stack."""

    op = "eigvalsh"

    def time_eigvalsh(self, n, dtype):
        """Time one call."""
        la.eigvalsh(*self.args)


class EighSingle(Single):
    """eigh of one small matrix."""

    op = "eigh"

    def time_eigh(self, dtype):
        """Time one call."""
        la.eigh(*self.args)
