"""Runs `search` and `diff` of `asdftool` and of `scibin asdf` on the same files, and compares the results:
`asdftool.py DIRECTORY SCIBIN`. Each case in which our results differ on purpose states the reason."""

import json
import pathlib
import subprocess
import sys

import asdf
import numpy as np

TREE = {
    "gain": 2.5,
    "time": 7,
    "on": True,
    "none": None,
    "name": "RZ 7",
    "meta": {"time_start": 1, "time_end": 2.5, "names": ["x1", "x2", "y"], "deep": {"gain": 2.5, "list": [1, [7, 7.0]]}},
    "z": 1 + 2j,
    "data": np.arange(12.0).reshape(3, 4),
    "text": np.array(["ab", "c"]),
    "odd/key": {"~": 1},
}


class Path:
    """Converts a Python expression such as `root['a'][0]` to a JSON Pointer."""

    def __init__(self, pointer=""):
        self.pointer = pointer

    def __getitem__(self, key):
        return Path(self.pointer + "/" + str(key).replace("~", "~0").replace("/", "~1"))


def of_python(path, key, kind, value):
    """Returns the pointers to the nodes that asdftool shows, using the same query as its command."""
    query = {}
    if key is not None:
        query["key"] = key
    if kind is not None:
        query["type_"] = {"numpy.ndarray": asdf.tags.core.ndarray.NDArrayType, "NoneType": type(None)}.get(kind)
        if query["type_"] is None:
            query["type_"] = getattr(__import__("builtins"), kind)
    if value is not None:
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            pass
        query["value"] = value
    with asdf.open(path) as file:
        paths = file.search(**query).paths
        return {eval(path, {"root": Path()}).pointer for path in paths}


def of_ours(scibin, path, key, kind, value):
    options = [("--key", key), ("--type", kind), ("--value", value)]
    given = [word for option, text in options if text is not None for word in (option, text)]
    done = subprocess.run([scibin, "asdf", "search", "--json", *given, path], capture_output=True, text=True, check=True)
    return {found["pointer"] for found in json.loads(done.stdout)}


def searches():
    for key in ("gain", "^time", "_", "0", "names|odd", "no such key", "^[12]$"):
        yield key, None, None, set()
    for kind in ("float", "str", "bool", "NoneType", "list", "dict", "complex", "numpy.ndarray"):
        yield None, kind, None, set()
    # In Python, a boolean is an integer.
    yield None, "int", None, {"/on"}
    # In Python, 1 equals True.
    yield None, None, "1", {"/on"}
    # In Python, True also equals 1.
    for value in ("7", "2.5", "7.0", "true", '"RZ"', "x[0-9]", "^y$", "no such value", "[7, 7.0]", '{"~": 1}'):
        yield None, None, value, {"/meta/deep/list/0", "/meta/time_start", "/odd~1key/~0"} if value == "true" else set()
    yield "time", "int", None, set()
    yield "gain", "float", "2.5", set()
    yield "1", None, "x", set()


def search(directory, scibin):
    path = directory / "search.asdf"
    asdf.AsdfFile(TREE).write_to(path)
    count = 0
    for key, kind, value, apart in searches():
        theirs, ours = of_python(path, key, kind, value), of_ours(scibin, path, key, kind, value)
        # Ignore the nodes that asdf itself adds, because their classes depend on its version.
        added = ("/asdf_library", "/history")
        theirs, ours = ({one for one in found if not one.startswith(added)} for found in (theirs, ours))
        if theirs - apart != ours - apart:
            sys.exit(f"search {key=} {kind=} {value=}: asdftool {sorted(theirs)}, ours {sorted(ours)}")
        count += 1
    print(f"{count} searches find the same nodes, apart from those listed")


def changed(**change):
    return {**TREE, **change}


def pairs():
    """Yields the name of a pair, the second tree, and, if only our program finds the difference, the reason."""
    meta = TREE["meta"]
    yield "nothing", changed(), None
    yield "a value", changed(gain=2.6), None
    yield "a type", changed(gain="2.5"), None
    yield "a key more", changed(more=1), None
    yield "a key less", {key: value for key, value in TREE.items() if key != "time"}, None
    yield "a key deep down", changed(meta={**meta, "deep": {"gain": 2.5, "list": [1, [7, 8.0]]}}), None
    yield "an item", changed(meta={**meta, "names": ["x1", "x3", "y"]}), None
    yield "an item more", changed(meta={**meta, "names": [*meta["names"], "z"]}), "asdftool stops at the end of the shorter list"
    yield "elements", changed(data=np.arange(12.0).reshape(3, 4) + 1e-9), None
    yield "a shape", changed(data=np.arange(12.0).reshape(4, 3)), None
    yield "a type of elements", changed(data=np.arange(12, dtype="f4").reshape(3, 4)), None
    yield "text", changed(text=np.array(["ab", "d"])), None
    yield "a complex number", changed(z=1 + 3j), None


def diff(directory, scibin):
    asdftool = pathlib.Path(sys.executable).with_name("asdftool")
    before, after = directory / "before.asdf", directory / "after.asdf"
    asdf.AsdfFile(TREE).write_to(before)
    count = 0
    for name, tree, why in pairs():
        asdf.AsdfFile(tree).write_to(after)
        theirs = subprocess.run([asdftool, "diff", before, after], capture_output=True, text=True)
        ours = subprocess.run([scibin, "asdf", "diff", before, after], capture_output=True, text=True)
        if ours.returncode not in (0, 1):
            sys.exit(f"diff of {name}: {ours.stdout}{ours.stderr}")
        found = theirs.returncode != 0 or bool(theirs.stdout.strip())
        if found != (ours.returncode == 1) and not (why and ours.returncode == 1):
            sys.exit(f"diff of {name}: asdftool {theirs.stdout!r}{theirs.stderr!r}, ours {ours.stdout!r}")
        count += 1
    near = [scibin, "asdf", "diff", before, after]
    asdf.AsdfFile(changed(data=TREE["data"] * (1 + 1e-9), gain=2.5 + 1e-9)).write_to(after)
    for options, status in (([], 1), (["--rtol", "1e-8"], 0), (["--atol", "1e-12"], 1), (["--ignore", "/**"], 0)):
        done = subprocess.run([*near, *options], capture_output=True, text=True)
        if done.returncode != status:
            sys.exit(f"diff {options}: status {done.returncode}: {done.stdout}{done.stderr}")
    apart = sum(why is not None for _, _, why in pairs())
    print(f"{count} pairs of files: {apart} differ for ours only, as listed, the others for both or for neither")


def main():
    directory, scibin = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    search(directory, scibin)
    diff(directory, scibin)


main()
