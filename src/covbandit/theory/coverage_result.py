"""What measuring the lemmas' radii gave: misses and widths, in a table."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from covbandit.core.tables import Table


@dataclass(frozen=True)
class RadiusCoverage:
    """How one radius did after one number of rounds.

    Attributes
    ----------
    radius : str
        "g" of the covariances; "E" of the means, which rests on the true covariance; "E of MC-UCB", which rests on the
        upper estimates of Algorithm 2.
    rounds : int
        How many rounds were seen (exploration rounds, for totals).
    t : int
        The round at which the radius is taken.
    replications, misses : int
        In how many samples some error exceeded its radius.
    allowed : float
        The share of misses that the lemma allows.
    narrowest, widest : float
        The radius in multiples of the 95 % quantile of the error it covers, for the entry, or the weights, where this
        is smallest and largest. NaN if nothing varies.
    """

    radius: str
    rounds: int
    t: int
    replications: int
    misses: int
    allowed: float
    narrowest: float
    widest: float

    @property
    def at_most(self) -> float:
        """The largest share of misses that is compatible with what was seen (95 %, one-sided)."""
        if self.misses == self.replications:
            return 1.0
        return float(betaincinv(self.misses + 1, self.replications - self.misses, 0.95))

    @property
    def at_least(self) -> float:
        """The smallest share of misses that is compatible with what was seen (95 %, one-sided)."""
        return 0.0 if self.misses == 0 else float(betaincinv(self.misses, self.replications - self.misses + 1, 0.05))

    @property
    def outcome(self) -> str:
        """What the samples say of the lemma.

        "holds" if they bound the share of misses below what it allows, "refuted" if they show more, "not refuted" where
        they are too few for either, "says nothing" where the lemma allows any share.
        """
        if self.allowed >= 1:
            return "says nothing"
        if self.at_least > self.allowed:
            return "refuted"
        return "holds" if self.at_most <= self.allowed else "not refuted"


@dataclass(frozen=True)
class Coverage:
    """What `coverage` measured: one entry of `radii` per radius and number of rounds."""

    feedback: str
    replications: int
    seed: int
    radii: tuple[RadiusCoverage, ...]

    def table(self) -> Table:
        """Return one row per radius and number of rounds."""
        rows = [
            [r.radius, r.rounds, r.t, r.misses, r.at_most, r.allowed, r.outcome, r.narrowest, r.widest]
            for r in sorted(self.radii, key=lambda r: r.radius)
        ]
        unit = "exploration rounds" if self.feedback == "total" else "rounds"
        return Table(
            ["radius", unit, "t", "misses", "miss share ≤", "allowed", "lemma", "narrowest", "widest"],
            rows,
            f'Radii for feedback "{self.feedback}", {self.replications:,} samples, seed {self.seed}; '
            "widths in multiples of the 95 % quantile of the error",
        )

    def __str__(self) -> str:
        return str(self.table())
