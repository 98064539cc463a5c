"""Random numbers for kernels.

=====================  ================================================
file                   what it holds
=====================  ================================================
``counter_random.py``  numbers that depend on a key and a counter alone
``sampling.py``        correlated rewards from independent draws
=====================  ================================================
"""
