"""The paper's experiments, repeated, with a verdict on each of its statements."""

from covbandit.reproduction.panels import PANELS, Panel, panels_named
from covbandit.reproduction.report import reproduce

__all__ = ["PANELS", "Panel", "panels_named", "reproduce"]
