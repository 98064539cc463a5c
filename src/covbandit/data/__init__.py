"""Returns of your own: from CSV, Parquet, data frames, the Kaggle fund file, and files inside installed packages."""

from covbandit.data.etf_figures import etf_returns
from covbandit.data.etf_file import read_etf_file
from covbandit.data.packages import packaged, read_packaged
from covbandit.data.reading import read_returns
from covbandit.data.returns import Returns

__all__ = ["Returns", "etf_returns", "packaged", "read_etf_file", "read_packaged", "read_returns"]
