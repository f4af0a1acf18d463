"""Reading and writing four scientific data containers.

========================  ==================================================================
`scibin.asdf`             ASDF, the Advanced Scientific Data Format
`scibin.bloscpack`        Bloscpack, compressed arrays and bytes
`scibin.dudley`           binary data that a layout in the language Dudley describes
`scibin.flux_archive`     archives of files in JSON, as Flux writes them (RFC 37)
`scibin.dask`             arrays in one file or in thousands as Dask arrays
`scibin.xarray`           the engine ``scibin`` of xarray
`scibin.sources`          files in object stores and other remote file systems
========================  ==================================================================

All of them raise the exceptions below, share lazy arrays (:class:`NDArray`), and use as many
threads as :func:`set_threads` or the environment variable ``SCIBIN_THREADS`` says. They can be
used from several threads, and before and after a fork.
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
