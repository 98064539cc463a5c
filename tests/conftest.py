"""One Hypothesis profile for the whole suite: every run draws the same examples."""

from hypothesis import settings

settings.register_profile("covbandit", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("covbandit")
