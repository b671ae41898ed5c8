"""QR factorisation."""

from _asv import Single, Stack, Tall

import linalgad as la


class QrStack(Stack):
    """qr of a stack."""

    op = "qr"

    def time_qr(self, n, dtype):
        """Time one call."""
        la.qr(*self.args)


class QrSingle(Single):
    """qr of one small matrix."""

    op = "qr"

    def time_qr(self, dtype):
        """Time one call."""
        la.qr(*self.args)


class QrTall(Tall):
    """qr of tall matrices."""

    op = "qr"

    def time_qr(self, shape, dtype):
        """Time one call."""
        la.qr(*self.args)
