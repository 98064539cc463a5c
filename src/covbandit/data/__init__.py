"""Returns of your own: from CSV, Excel, Parquet, data frames, the Kaggle fund file, and files in installed packages.

=================  =============================================================================================
file               what it holds
=================  =============================================================================================
``returns.py``     `Returns`: what each option returned in each period, its mean and covariance
``reading.py``     `read_returns`: from any table to `Returns`, every decision noted
``datasets.py``    data sets known here: five funds, the paper's Kaggle file, prices in installed packages
``sheet.py``       a table as it came, with where each cell stands; CSV files
``tabular.py``     Excel and Parquet files and data frames, turned into sheets
``headings.py``    which column labels the periods, and which are options
``periods.py``     labels of periods: dates as people write them, and their order
``numbers.py``     numbers as text: decimal points and decimal commas
``selection.py``   names that a user gives, found among those there are; rows without gaps
``plausible.py``   the rules by which numbers that cannot be meant are refused
=================  =============================================================================================
"""

from covbandit.data.datasets import etf_returns, packaged, read_etf_file, read_packaged
from covbandit.data.reading import read_returns
from covbandit.data.returns import Returns

__all__ = ["Returns", "etf_returns", "packaged", "read_etf_file", "read_packaged", "read_returns"]
