"""What every room needs: types, checks of input, files, tables, processes. Nothing here knows a bandit.

===================  =======================================================================
file                 what it holds
===================  =======================================================================
``typing.py``        array types for annotations
``validation.py``    checks of numbers, arrays, names and paths that users give
``number_hints.py``  what a number that no program reads may mean: ``3,600``, ``50%``
``size_limits.py``   how large things may be before a file is believed
``files.py``         files written whole or not at all; versioned JSON documents
``archives.py``      NPZ archives, whose declared sizes are checked before room is made
``tables.py``        a small table that prints well and exports
``spelling.py``      which of the known names a misspelt one means
``csv_cells.py``     text in CSV cells that no spreadsheet runs as a formula
``fingerprints.py``  hashes of the source code that a result or a compiled kernel depends on
``processes.py``     helper processes that end with the process that started them
``error_table.py``   exit code and HTTP status of every class of errors
===================  =======================================================================
"""
