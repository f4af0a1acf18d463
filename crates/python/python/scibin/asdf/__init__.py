"""ASDF, the Advanced Scientific Data Format.

>>> import scibin.asdf
>>> data = scibin.asdf.dumps({"meta": {"gain": 2.5}, "image": np.zeros((2, 3))})
>>> with scibin.asdf.loads(data) as f:
...     f["meta"]["gain"], f["image"][0]
(2.5, array([0., 0., 0.]))

Opening a large file reads only its start and its end. The tree is parsed when it is first used, and
the elements of an array are read when they are needed. Values are plain Python objects and arrays,
and reading them never imports or runs code named by the file. :meth:`Node.to_object` converts a
node into an object of another package, such as a WCS.
"""

from ._edit import Editor, EditReport, edit
from ._file import Block, Diagnostic, File, Report, loads, open
from ._node import ArrayNode, MappingNode, Node, ScalarNode, SequenceNode
from ._tagged import Tagged
from ._write import dumps, write

__all__ = [
    "ArrayNode",
    "Block",
    "Diagnostic",
    "EditReport",
    "Editor",
    "File",
    "MappingNode",
    "Node",
    "Report",
    "ScalarNode",
    "SequenceNode",
    "Tagged",
    "dumps",
    "edit",
    "loads",
    "open",
    "write",
]
