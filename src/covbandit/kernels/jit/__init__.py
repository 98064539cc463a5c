"""How kernels are compiled, cached on disk and linked.

==================  =========================================================================
file                what it holds
==================  =========================================================================
``compilation.py``  the `kernel` decorator; one signature per kernel; the cache on disk
``views.py``        named views of a state, which cost nothing in compiled code
``linking.py``      calls from kernel to kernel by linker symbol, without containing its code
==================  =========================================================================
"""
