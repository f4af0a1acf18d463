"""Uses the Python reference to read the files that the Rust test `write` wrote, and compares the content with the
expected values: `check.py DIRECTORY`."""

import bz2
import importlib.util
import json
import pathlib
import struct
import sys
import warnings
import zlib

import asdf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "testdata" / "asdf"))
import record  # noqa: E402


def abacus():
    """Returns the extension of abacusutils. Loads it from its file, because the package imports astropy and numba."""
    path = pathlib.Path(sys.prefix) / "abacus" / "abacusnbody" / "data" / "asdf.py"
    spec = importlib.util.spec_from_file_location("abacus_asdf", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.AbacusExtension()


def blocks(data):
    """Yields the compression code, the stored bytes and the decoded size of each block in the block index."""
    _, found, index = data.rpartition(b"#ASDF BLOCK INDEX\n")
    if not found:
        return
    for line in index.decode().splitlines():
        if line.startswith("- "):
            offset = int(line[2:])
            header_size, _flags, code, _allocated, used, size = struct.unpack(">HI4sQQQ", data[offset + 4 : offset + 38])
            start = offset + 6 + header_size
            yield code.rstrip(b"\0").decode(), data[start : start + used], size


def check_streams(data):
    """Checks that each block compressed with zlib or bzip2 contains a single stream, with nothing after it."""
    decoders = {"zlib": zlib.decompressobj, "bzp2": bz2.BZ2Decompressor}
    for code, stored, size in blocks(data):
        if code in decoders:
            decoder = decoders[code]()
            decoded = decoder.decompress(stored)
            assert len(decoded) == size, f"{code}: {len(decoded)} bytes of {size}"
            assert decoder.eof and not decoder.unused_data, f"{code}: more than one stream"


def check_copy(path, expected):
    check_streams(path.read_bytes())
    with asdf.config_context() as config:
        config.validate_on_read = True
        if "__blsc-chunked" in path.name:
            # This extension reads only chunks, whereas asdf-compression reads only a single buffer under the same code.
            config.add_extension(abacus())
            warnings.filterwarnings("ignore", 'Found more than one compressor for "blsc"')
        with asdf.open(path, validate_checksums=True, lazy_load=False):
            pass
        ours = record.record(path)
    assert ours["arrays"] == expected["arrays"], "arrays differ"
    # Numbers in the tree have no byte order, so ignore it.
    text = lambda value: json.dumps(value).replace('">', '"<') if "inline" in path.name else value
    assert text(ours["value"]) == text(expected["value"]), "values differ"


def check_texts(directory):
    expected = json.loads((directory / "texts.json").read_text())
    texts = expected["texts"]
    with asdf.open(directory / "texts.asdf", lazy_load=False) as file:
        tree = file.tree
        assert list(tree["brackets"]) == texts, "brackets"
        assert list(tree["keys"]) == list(dict.fromkeys(texts)), "keys"
        assert list(tree["lines"][0]) == texts and list(tree["lines"][1]) == [], "lines"
        assert [item[0] for item in tree["nested"]] == texts, "nested"
        bits = [str(struct.unpack("<Q", struct.pack("<d", number))[0]) for number in tree["floats"]]
        assert bits == expected["floats"], "floats"
        assert str(int(tree["big"])) == expected["big"], "big"
        assert tree["bytes"] == bytes(range(256)), "bytes"
        assert tree["shared"][0] is tree["shared"][1], "shared"
        assert tree["cycle"]["self"] is tree["cycle"], "cycle"


def main(directory):
    directory = pathlib.Path(directory)
    cases = {case["name"]: case["ours"] for case in json.loads((directory / "expected.json").read_text())["cases"]}
    copies = json.loads((directory / "ours" / "copies.json").read_text())
    failures = []
    # Treat warnings of the reference as errors.
    warnings.simplefilter("error")
    for copy in copies:
        try:
            check_copy(directory / "ours" / copy["file"], cases[copy["name"]])
        except Exception as error:
            failures.append(f"{copy['file']}: {type(error).__name__}: {error}")
    repaired = json.loads((directory / "ours" / "repaired.json").read_text())
    for case in repaired:
        try:
            check_copy(directory / "ours" / case["file"], cases[case["name"]])
        except Exception as error:
            failures.append(f"{case['file']}: {type(error).__name__}: {error}")
    try:
        check_texts(directory / "ours")
    except Exception as error:
        failures.append(f"texts: {type(error).__name__}: {error}")
    if failures:
        sys.exit("\n".join(failures[:40]) + f"\n{len(failures)} of {len(copies) + len(repaired) + 1} files differ")
    print(f"asdf {asdf.__version__} reads {len(copies)} files that we wrote, {len(repaired)} that we repaired")


if __name__ == "__main__":
    main(sys.argv[1])
