"""Draws the pictures of the documentation with covbandit itself: ``python docs/making/pictures.py [NAME ...]``.

Pictures of worked examples run the snippets of their page, so they show what the page says. Colours are those of
docs/style.css, as CSS variables: within the site they follow its light or dark scheme, elsewhere that of the reader.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import covbandit as cb

DOCS = Path(__file__).resolve().parents[1]
PICTURES = DOCS / "pictures"


def _palette(scheme: str) -> dict[str, str]:
    """Return the colours that the site's style sheet gives to pictures."""
    style = (DOCS / "style.css").read_text(encoding="utf-8")
    block = style.split(f'[data-md-color-scheme="{scheme}"]')[1].split("}")[0]
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", block))


LIGHT, DARK = _palette("default"), _palette("slate")
INK, GREY, BLUE, ORANGE, GREEN, PINK = (LIGHT[name] for name in ("ink", "grey", "blue", "orange", "green", "pink"))
SETTINGS = {
    "svg.fonttype": "path",
    "svg.hashsalt": "covbandit",  # the same picture has the same bytes
    "font.size": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}
WIDTH = 5.4  # inches: narrow enough to be read on a telephone


# Each function draws the picture of its name --------------------------------------------------------------------------


def correlation() -> Figure:
    """Draw rewards of two options, and the standard deviation of their mix."""
    figure, (left, right) = _figure(2.6, columns=2)
    share = np.linspace(0, 1, 81)
    turn = np.linspace(0, 2 * np.pi, 121)
    circle = 2 * np.array([np.cos(turn), np.sin(turn)])
    for r, colour, marker in ((-0.8, BLUE, "o"), (0.8, ORANGE, "^")):
        problem = cb.Problem(mean=[1, 1], covariance=[[1, r], [r, 1]], risk_aversion=0.5)
        rewards = cb.environments.Gaussian().sampler(problem, seed=3, replication=0).draw(100)
        left.plot(*rewards.T, marker, color=colour, markersize=3, markeredgewidth=0, alpha=0.7)
        left.plot(*(1 + np.linalg.cholesky(problem.covariance) @ circle), color=colour, linewidth=1.2)
    for r, colour in ((-0.8, BLUE), (0.0, GREY), (0.8, ORANGE)):
        right.plot(share, np.sqrt(share**2 + (1 - share) ** 2 + 2 * r * share * (1 - share)), color=colour)
        right.annotate(f"{r:+.1f}" if r else "0", (0.5, np.sqrt(0.5 + r / 2)), (0, 4), **_NEAR, color=colour)
    left.set(xlabel="reward of the first", ylabel="reward of the second", aspect="equal")
    right.set(xlabel="weight of the second", ylabel="sd of the mix", ylim=(0, 1.12), title="by correlation")
    right.set_xticks([0, 0.5, 1])
    return figure


def utility() -> Figure:
    """Draw the utility along the weight of the second of two options."""
    figure, (ax,) = _figure(2.9)
    share = np.linspace(0, 1, 101)
    for rho, colour in ((0.0, GREEN), (0.15, BLUE), (0.5, ORANGE)):
        problem = cb.Problem(mean=[1.0, 1.5], covariance=[[1.0, 0.0], [0.0, 4.0]], risk_aversion=rho)
        ax.plot(share, [problem.utility([1 - s, s]) for s in share], color=colour)
        best = problem.optimum()
        ax.plot(best.weights[1], best.utility, "o", color=colour, clip_on=False, zorder=3)
        ax.annotate(f"ρ = {rho:g}", (0, problem.utility([1, 0])), (6, 8 if rho == 0 else -14), **_BESIDE, color=colour)
    ax.set(xlabel="weight of the riskier option", ylabel="utility f(w)", xlim=(0, 1))
    return figure


def trade_off() -> Figure:
    """Draw mean against sd: the best mixes, single funds, equal weights."""
    figure, (ax,) = _figure(3.3)
    problem = cb.problems.etf()
    path = cb.risk_path(problem, points=200)
    ax.plot(path.sd, path.mean, color=BLUE)
    for rho in (0.01, 0.05, 0.2, 1.0):
        k = int(np.abs(np.log(path.risk_aversion / rho)).argmin())
        ax.plot(path.sd[k], path.mean[k], "o", color=BLUE, markersize=5)
        ax.annotate(f"ρ = {rho:g}", (path.sd[k], path.mean[k]), (-6, 2), **{**_BESIDE, "ha": "right"}, color=BLUE)
    sd = np.sqrt(problem.covariance.diagonal())
    ax.plot(sd, problem.mean, "s", color=GREY, markersize=5)
    for name, x, y in zip(problem.options or (), sd, problem.mean, strict=True):
        ax.annotate(name, (x, y), (6, -3), **_BESIDE, color=GREY)
    equal = np.full(5, 0.2)
    x, y = np.sqrt(equal @ problem.covariance @ equal), equal @ problem.mean
    ax.plot(x, y, "D", color=ORANGE, markersize=6)
    ax.annotate("equal weights", (x, y), (7, -3), **_BESIDE, color=ORANGE)
    ax.set(xlabel="standard deviation, % a year", ylabel="mean, % a year", xlim=(2.5, 18.5))
    return figure


def feedback() -> Figure:
    """Draw the same rewards, seen three ways."""
    problem = cb.Problem(
        mean=[0.4, 0.6, 0.5, 0.2], covariance=np.diag([0.5, 1.0, 0.7, 0.4]), risk_aversion=0.5, options=list("ABCD")
    )
    rounds = 6
    rewards = cb.environments.Gaussian().sampler(problem, seed=5, replication=0).draw(rounds)
    figure, axes = _figure(5.6, rows=3)
    for ax, kind in zip(axes, ("all", "chosen", "total"), strict=True):
        allocator = cb.allocator(
            list("ABCD"), kind, risk_aversion=0.5, min_weight=0.3 if kind == "chosen" else None, seed=1
        )
        played = np.empty((rounds, 4))
        for t in range(rounds):
            played[t] = list(allocator.ask().values())
            total = float(played[t] @ rewards[t])
            seen = np.where((played[t] > 0) | (kind == "all"), rewards[t], np.nan)
            allocator.tell(played[t], total if kind == "total" else seen)
            for i in range(4):
                if kind != "total":
                    ax.text(t, i, "?" if np.isnan(seen[i]) else f"{seen[i]:.1f}", ha="center", va="center", fontsize=9)
            if kind == "total":
                ax.text(t, 4, f"{total:.1f}", ha="center", va="center", fontsize=9)
        _shade(ax, played.T)
        names = [*"ABCD", "total"] if kind == "total" else list("ABCD")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xticks(range(rounds), [str(t + 1) for t in range(rounds)])
        ax.set_title(f'feedback="{kind}"', loc="left")
    axes[-1].set_xlabel("round")
    return figure


def regret() -> Figure:
    """Draw the utility missed per round, and its sum."""
    problem = cb.problems.synthetic(risk_aversion=0.1)
    rewards = cb.environments.Gaussian().sampler(problem, seed=2, replication=0).draw(2_000)
    learner = cb.ShrunkEmpirical(n_options=5, risk_aversion=0.1)
    missed = np.empty(len(rewards))
    for t, row in enumerate(rewards):
        weights = learner.ask()
        missed[t] = problem.gap(weights)
        learner.tell(weights, row)
    never = np.full(len(rewards), problem.gap(np.full(5, 0.2)))
    shown = np.arange(4, len(rewards), 5)
    figure, (above, below) = _figure(4.4, rows=2, sharex=True)
    above.plot(shown + 1, missed[shown], color=BLUE, linewidth=1.2)
    above.plot(shown + 1, never[shown], color=GREY, linestyle="--")
    above.set(ylabel="missed in the round")
    above.set_ylim(bottom=0)
    below.plot(shown + 1, missed.cumsum()[shown], color=BLUE, label="ShrunkEmpirical")
    below.plot(shown + 1, never.cumsum()[shown], color=GREY, linestyle="--", label="equal weights")
    below.set(xlabel="round", ylabel="regret", xlim=(0, len(rewards)))
    below.set_ylim(bottom=0)
    below.legend(loc="upper left")
    return figure


def settling() -> Figure:
    """Draw the weights of the budget split over two years."""
    figure, (ax,) = _figure(2.1)
    _weeks(ax)
    return figure


def exploration() -> Figure:
    """Draw optimism over weeks, sampling over rounds."""
    figure, (above, below) = _figure(4.8, rows=2)
    _weeks(above)
    above.set_title('optimism, feedback="chosen"', loc="left")
    page = _after_snippets("treatment-mix.md")
    problem: cb.Problem = page["problem"]
    mix = cb.allocator(problem.options, "total", risk_aversion=problem.risk_aversion, seed=1)
    shown = np.unique(np.geomspace(10, 20_000, 160).astype(int))
    drawn = []
    rewards = cb.environments.Gaussian().sampler(problem, seed=4, replication=0).draw(int(shown[-1]))
    for t, row in enumerate(rewards, 1):
        weights = mix.learner.ask()
        mix.learner.tell(weights, float(weights @ row))
        if t in shown:
            drawn.append(weights)
    for i, colour in enumerate((BLUE, ORANGE, GREEN)):
        best = problem.optimum().weights[i]
        below.plot(shown, np.array(drawn)[:, i], ".", color=colour, markersize=4)
        below.axhline(best, color=colour, linestyle="--", linewidth=1)
        below.annotate((problem.options or ())[i], (20_000, best), (5, -3), **_BESIDE, color=colour)
    below.set(xscale="log", xlabel="round", ylabel="weight", ylim=(0, 1), xlim=(10, 20_000))
    below.set_title('sampling, feedback="total"', loc="left")
    return figure


def equal_weights() -> Figure:
    """Draw the regret of learners and of equal weights, where these are far from the best ones and where near."""
    figure, axes = _figure(3.0, columns=2, sharey=True)
    for ax, rho in zip(axes, (0.1, 10.0), strict=True):
        learners = {
            "equal weights": cb.FixedWeights(n_options=5),
            "MC-Empirical": cb.MCEmpirical(n_options=5, risk_aversion=rho),
            "ShrunkEmpirical": cb.ShrunkEmpirical(n_options=5, risk_aversion=rho),
        }
        problem = cb.problems.synthetic(risk_aversion=rho)
        _draw_regret(ax, cb.simulate(problem, learners, horizon=10_000, replications=40, seed=0))
        ax.set(xscale="log", yscale="log", title=f"ρ = {rho:g}", xlabel="round", ylim=(1e-2, 3e2), xlim=(10, 1e4))
    axes[0].set_ylabel("regret")
    axes[0].legend(loc="lower right", handlelength=2.6)
    return figure


def risk_path() -> Figure:
    """Draw the weights along ρ, and the trade-off curve."""
    path = cb.risk_path(cb.problems.etf(), points=121)
    figure, (above, below) = _figure(5.8, rows=2)
    rho = path.risk_aversion
    colours = (BLUE, ORANGE, GREEN, PINK, GREY)
    above.stackplot(rho, path.weights.T, colors=colours, linewidth=0, alpha=0.75)
    middle = np.cumsum(path.weights, axis=1) - path.weights / 2
    for i, name in enumerate(path.options or ()):
        k = int(path.weights[:, i].argmax()) if i else int(np.searchsorted(rho, 0.02))
        k = min(max(k, 8), len(rho) - 9)
        if path.weights[k, i] > 0.06:
            above.text(rho[k], middle[k, i], name, ha="center", va="center", fontsize=9)
    above.set(xscale="log", xlabel="risk aversion ρ", ylabel="weight", xlim=(rho[0], rho[-1]), ylim=(0, 1))
    below.plot(path.sd, path.mean, color=BLUE)
    for mark in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        k = int(np.abs(np.log(rho / mark)).argmin())
        below.plot(path.sd[k], path.mean[k], "o", color=BLUE, markersize=5)
        below.annotate(f"{mark:g}", (path.sd[k], path.mean[k]), (6, -10), **_BESIDE)
    below.set(xlabel="standard deviation, % a year", ylabel="mean, % a year")
    return figure


def portfolio() -> Figure:
    """Draw the regret of the portfolio's learners."""
    return _page_regret("portfolio.md", "month")


def budget_split() -> Figure:
    """Draw the regret of the budget split's learners."""
    return _page_regret("budget-split.md", "week")


def treatment_mix() -> Figure:
    """Draw the regret of the treatment mix's learners."""
    return _page_regret("treatment-mix.md", "round")


def house() -> Figure:
    """Draw the rooms of the package in layers; imports point down, and within a layer to the right."""
    families = {"full_information": "all is seen", "semi_bandit": "the chosen are seen", "full_bandit": "totals"}
    layers: list[tuple[str, list[tuple[str, str]]]] = [
        (BLUE, [("cli", "the command line"), ("service", "HTTP, client, dashboard")]),
        (BLUE, [("reproduction", "the paper"), ("specifications", "from TOML files"), ("testing", "conformance")]),
        (ORANGE, [("studies", "ask and tell in a database"), ("allocation", "names, not arrays")]),
        (ORANGE, [("simulation", "engine and results"), ("environments", "where rewards come from")]),
        (GREEN, [(f"learners.{name}", seen) for name, seen in families.items()]),
        (GREEN, [("learners.protocol", "what every learner shares: base, state, saved files, explanations")]),
        (PINK, [("aggregate", "moments from totals"), ("risk", "how to choose ρ"), ("data", "returns from files")]),
        (PINK, [("theory", "the paper's bounds"), ("problems", "θ, Σ, ρ"), ("maximization", "the exact optimum")]),
        (GREY, [("kernels", "compiled numerics: jit, qp, optimistic, algebra, random")]),
        (GREY, [("core", "types, checks, files, tables"), ("errors", "the exception tree")]),
    ]
    figure, (ax,) = _figure(7.4)
    tall, gap, across, top = 0.72, 0.3, 0.16, len(layers) - 1
    for k, (colour, rooms) in enumerate(layers):
        y = top - k
        independent = k == 4  # families of learners do not import each other
        wide = (6 - across * (len(rooms) - 1)) / len(rooms)
        for j, (name, holds) in enumerate(rooms):
            x = j * (wide + across)
            corners = (x, x + wide, x + wide, x), (y, y, y + tall, y + tall)
            ax.fill(*corners, facecolor=colour, alpha=0.14, linewidth=0)
            ax.fill(*corners, fill=False, edgecolor=colour, linewidth=1)
            size = 9.5 if len(name) < 24 or wide > 2 else 8.5
            ax.text(x + wide / 2, y + 0.5, name, ha="center", va="center", fontsize=size)
            ax.text(x + wide / 2, y + 0.22, holds, ha="center", va="center", fontsize=8)
            if j and not independent:
                ax.annotate("", (x, y + tall / 2), (x - across, y + tall / 2), arrowprops=_IMPORTS)
        if k:
            ax.annotate("", (3, y + tall), (3, y + tall + gap - 0.02), arrowprops=_IMPORTS)
    ax.set(xlim=(-0.02, 6.02), ylim=(-0.02, top + tall + 0.02))
    ax.set_axis_off()
    return figure


# What they share ------------------------------------------------------------------------------------------------------

_IMPORTS: dict[str, Any] = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
_NEAR: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 9}
_BESIDE: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "fontsize": 9}


def _figure(height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).ravel())


def _shade(ax: Axes, weights: np.ndarray, full: float = 1.0) -> None:
    """Show weights as tiles, strongest where they are `full`; rows are options, columns are rounds."""
    for (i, t), weight in np.ndenumerate(weights):
        if weight > 0:
            across, down = (t - 0.5, t + 0.5, t + 0.5, t - 0.5), (i - 0.5, i - 0.5, i + 0.5, i + 0.5)
            ax.fill(across, down, color=BLUE, alpha=round(0.08 + 0.55 * float(weight) / full, 2), linewidth=0)
    ax.set(xlim=(-0.5, weights.shape[1] - 0.5), ylim=(len(weights) - 0.5, -0.5))
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _weeks(ax: Axes) -> None:
    """Play the budget split for two years and show its weights."""
    problem: cb.Problem = _after_snippets("budget-split.md")["problem"]
    learner = cb.PairUCB(n_options=5, risk_aversion=problem.risk_aversion, min_weight=problem.min_weight)
    weights = []
    for row in cb.environments.Gaussian().sampler(problem, seed=1, replication=0).draw(104):
        weights.append(learner.ask())
        learner.tell(weights[-1], np.where(weights[-1] > 0, row, np.nan))
    _shade(ax, np.array(weights).T, full=float(np.max(weights)))
    ax.set_yticks(range(5), problem.options or ())
    ax.set_xticks([0, 25, 51, 77, 103], ["1", "26", "52", "78", "104"])
    ax.set_xlabel("week")


def _draw_regret(ax: Axes, result: cb.SimulationResult) -> None:
    """Draw mean regret with its 95 % band, equal weights in grey."""
    colours = iter((BLUE, ORANGE))
    dashes = iter(("-", (0, (5, 1.5))))
    for name, values in zip(result.learners, result.regret, strict=True):
        fixed = name == "equal weights"
        colour, dash = (GREY, "--") if fixed else (next(colours), next(dashes))
        mean = values.mean(axis=0)
        width = 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        ax.plot(result.checkpoints, mean, color=colour, linestyle=dash, label=name)
        ax.fill_between(result.checkpoints, mean - width, mean + width, color=colour, alpha=0.2, linewidth=0)


def _page_regret(page: str, unit: str) -> Figure:
    names = _after_snippets(page)
    settings = names["result"].specification
    result = cb.simulate(
        names["problem"],
        names["learners"],
        horizon=names["result"].horizon,
        replications=len(names["result"].replications),
        seed=settings["seed"],
        checkpoints=np.unique(np.linspace(1, names["result"].horizon, 121).astype(int)),
    )
    figure, (ax,) = _figure(2.9)
    _draw_regret(ax, result)
    ax.set(xlabel=unit, ylabel="regret", xlim=(0, result.horizon))
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", handlelength=2.6)
    return figure


@cache
def _after_snippets(page: str) -> dict[str, Any]:
    """Run a page's snippets and return the names that they leave."""
    names: dict[str, Any] = {"__name__": "snippets"}
    text = (DOCS / page).read_text(encoding="utf-8")
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            for code in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
                exec(compile(code, page, "exec"), names)
        finally:
            os.chdir(before)
    return names


DRAWN: dict[str, Callable[[], Figure]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        correlation,
        utility,
        trade_off,
        feedback,
        regret,
        settling,
        exploration,
        equal_weights,
        risk_path,
        portfolio,
        budget_split,
        treatment_mix,
        house,
    )
}


def draw(name: str) -> str:
    """Return one picture as SVG."""
    written = io.StringIO()
    with matplotlib.rc_context(SETTINGS):  # type: ignore[arg-type]
        DRAWN[name]().savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    for variable, colour in LIGHT.items():
        svg = svg.replace(colour, f"var(--{variable}, {colour})")
    dark = "; ".join(f"--{variable}: {colour}" for variable, colour in DARK.items())
    style = f"<style>* {{ stroke-linejoin: round }} @media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}</style>"
    svg = re.sub(r"<style.*?</style>", style, svg, count=1, flags=re.DOTALL)
    # A hundredth of a point is enough.
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    return svg[svg.index("<svg") :]


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or DRAWN:
        (PICTURES / f"{chosen}.svg").write_text(draw(chosen), encoding="utf-8")
