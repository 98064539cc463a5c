"""Deprecated: `kernel` is found in `covbandit.kernels.jit.compilation`. This module goes away in 0.3."""

from __future__ import annotations

import warnings

from covbandit.kernels.jit.compilation import compiled as ready
from covbandit.kernels.jit.compilation import kernel

__all__ = ["kernel", "ready"]

warnings.warn(
    "covbandit.kernels.compilation is deprecated and goes away in 0.3; import kernel from covbandit.learners.protocol",
    DeprecationWarning,
    stacklevel=2,
)
