"""Random choices of options inside kernels, the same in every run: they make a search diverse, no more."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


@kernel()
def next_random(state: int) -> int:
    """Return the next state of a linear congruential generator; its upper bits are the random ones."""
    return state * 6364136223846793005 + 1442695040888963407  # modulo 2⁶⁴, as machine integers are


@kernel()
def pick(w: F64, cap: F64, chosen: bool, state: int) -> int:
    """Return a random option that has weight, or an allowed one that has none; -1 if there is none."""
    count = 0
    for i in range(w.size):
        count += cap[i] > 0.0 and (w[i] > 0.0) == chosen
    if count == 0:
        return -1
    left = ((state >> 33) & 0x3FFFFFFF) % count
    for i in range(w.size):
        if cap[i] > 0.0 and (w[i] > 0.0) == chosen:
            if left == 0:
                return i
            left -= 1
    return -1
