"""A commented specification to start from."""

from __future__ import annotations

from importlib.resources import files


def example() -> str:
    """Return the text of a specification that runs as it is and explains itself.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.specifications.loads(cb.specifications.example(), "example.toml")
    Specification('example': 3 simulation(s) of 6 learner(s))
    """
    return files("covbandit.specifications").joinpath("example.toml").read_text(encoding="utf-8")
