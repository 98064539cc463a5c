"""The paper's experiments, repeated, with a verdict on each of its statements."""

from covbandit.reproduction.panels import PANELS, Panel
from covbandit.reproduction.report import reproduce

__all__ = ["PANELS", "Panel", "reproduce"]
