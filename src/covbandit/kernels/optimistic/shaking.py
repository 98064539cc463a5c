r"""From tops to better tops, where there are too many supports to look at each.

The problem, with θ, A, C and c, is that of `search`. In the first rounds with many options hundreds of tops
compete, and the best is reached from few starts in a hundred, however they are made; but it is a few options away from
other good ones. So to the tops of grown supports those of d random ones are added, since growing, which looks at equal
weights, does not get everywhere. Then the best few are shaken in turns: some options are swapped at random, the result
is improved, and kept if no worse. Most landscapes have one top that is met again and again; it ends when that has
happened often enough.
"""

from __future__ import annotations

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.optimistic.moves import call_improve

_TOPS = 16  # tops that are shaken
_SWAPPED = 4  # options that are swapped at once, at most; at least two
_SHAKES = 10  # shakes for each option, at most; at least one
_HITS = 16  # times that the best top must be met, other than by shaking it, to end before that
_SAME = 1e-8  # tops whose F differs by no more than this share are one


@kernel()
def _next_random(state: int) -> int:
    """Return the next state of a linear congruential generator, whose upper bits are random enough for a search."""
    return state * 6364136223846793005 + 1442695040888963407  # modulo 2⁶⁴, as machine integers are


@kernel()
def _pick(w: F64, cap: F64, chosen: bool, state: int) -> int:
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


@kernel()
def _scatter(size: int, cap: F64, w: F64, state: int) -> int:
    """Write equal weights on up to `size` random options; return the state of the generator."""
    for i in range(w.size):
        w[i] = 0.0
    count = 0
    while count < size:
        state = _next_random(state)
        i = _pick(w, cap, False, state)
        if i < 0:
            break
        w[i] = 1.0
        count += 1
    for i in range(w.size):
        w[i] /= count
    return state


@kernel()
def _shake(swapped: int, cap: F64, w: F64, state: int) -> int:
    """Let random options give all their weight to random others, outside the support if possible; return the state."""
    for _ in range(swapped):
        state = _next_random(state)
        giver = _pick(w, cap, True, state)
        amount = w[giver]
        state = _next_random(state)
        taker = _pick(w, cap, False, state)
        w[giver] = 0.0
        if taker < 0:
            taker = _pick(w, cap, True, state)
        if taker < 0:
            taker = giver
        w[taker] += amount
    return state


@kernel()
def _best_to_front(points: F64, values: F64, count: int) -> int:
    """Bring the best tops to the front, one of each support; return how many."""
    d = points.shape[1]
    tops = 0
    while tops < _TOPS:
        top = -1
        for a in range(tops, count):
            if top >= 0 and not values[a, 1] > values[top, 1]:
                continue
            new = True
            for b in range(tops):
                same = True
                for i in range(d):
                    same = same and (points[a, i] > 0.0) == (points[b, i] > 0.0)
                new = new and not same
            if new:
                top = a
        if top < 0:
            break
        value = values[top, 1]
        values[top, 1] = values[tops, 1]
        values[tops, 1] = value
        for i in range(d):
            x = points[top, i]
            points[top, i] = points[tops, i]
            points[tops, i] = x
        tops += 1
    return tops


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, int64, float64, "
    "float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1])"
)
def shake_tops(
    theta: F64,
    A: F64,
    C: F64,
    least: float,
    cap: F64,
    m: int,
    count: int,
    best: float,
    w: F64,
    trial: F64,
    points: F64,
    values: F64,
    work: F64,
    order: I64,
) -> float:
    """Improve w, where F is `best`, if a better top is found; return F of the result.

    The first `count` rows of `points` are tops and the second column of `values` is F there; both are overwritten, and
    `trial` is workspace. m: as of `improve`.
    """
    d = w.size
    state = 1
    for start in range(d):
        state = _scatter(2 + start % max(m - 1, 1), cap, trial, state)
        value = call_improve(theta, A, C, least, cap, m, trial, work, order)
        place = count
        if count < points.shape[0]:
            count += 1
        else:
            place = 0
            for a in range(count):
                if values[a, 1] < values[place, 1]:
                    place = a
            if not value > values[place, 1]:
                continue
        values[place, 1] = value
        for i in range(d):
            points[place, i] = trial[i]
        if value > best:
            best = value
            for i in range(d):
                w[i] = trial[i]
    hits = 0
    for a in range(count):
        hits += values[a, 1] >= best - _SAME * abs(best)
    tops = _best_to_front(points, values, count)
    for turn in range(_SHAKES * d):
        if turn >= d and hits >= _HITS:
            break
        top = turn % tops
        for i in range(d):
            trial[i] = points[top, i]
        state = _shake(2 + turn % (_SWAPPED - 1), cap, trial, state)
        value = call_improve(theta, A, C, least, cap, m, trial, work, order)
        if value > best + _SAME * abs(best):
            hits = 1
        elif value >= best - _SAME * abs(best):
            hits += values[top, 1] < best - _SAME * abs(best)
        if value > best:
            best = value
            for i in range(d):
                w[i] = trial[i]
        if value >= values[top, 1]:
            values[top, 1] = value
            for i in range(d):
                points[top, i] = trial[i]
    return best


call_shake_tops = out_of_line(shake_tops)
