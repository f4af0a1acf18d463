"""Reading and writing scientific data containers.

========================  ==================================================================
`scibin.asdf`             ASDF, the Advanced Scientific Data Format
`scibin.bloscpack`        Bloscpack, compressed arrays and bytes
`scibin.dudley`           reading binary data described by a Dudley layout
`scibin.flux_archive`     file archives of Flux in JSON (RFC 37)
`scibin.dask`             arrays in one or many files as Dask arrays
`scibin.xarray`           the ``scibin`` engine for xarray
`scibin.sources`          files in object stores and other remote file systems
========================  ==================================================================

All modules raise the exceptions below. Arrays in files are lazy (:class:`NDArray`). The number of
threads is set by :func:`set_threads` or the environment variable ``SCIBIN_THREADS``. The modules
can be used from several threads, and before and after a fork.
"""

from importlib.metadata import version as _version

from ._array import NDArray
from ._errors import ChecksumMismatch, FormatError, LimitError
from ._scibin import set_threads, threads

__all__ = [
    "ChecksumMismatch",
    "FormatError",
    "LimitError",
    "NDArray",
    "__version__",
    "set_threads",
    "threads",
]

__version__ = _version("scibin")
