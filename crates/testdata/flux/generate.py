"""Generates `expected.json` in this folder, and the archives `created*.json`.

The other archives are written by hand. This script reads their content with Python's own json, base64 and
hashlib. Their violations are listed by hand, according to the table of codes."""

import base64
import hashlib
import json
import pathlib
import stat
import sys

DIRECTORY = pathlib.Path(sys.argv[1])
BLOBS = {"sha1-" + hashlib.sha1(blob).hexdigest(): blob for blob in (b"AAAA", b"BBBB")}

# The text of content that is JSON, because Python does not preserve it.
JSON_TEXT = {
    "run/config.json": '{"nodes":2,"scale":2.50}',
    "conf.json": '{"tbon": {"interface": "eth0"}}',
}

SCRIPT = "/attributes/system/files/script"

# The files, each with the profile that reads it, and the violations that each profile reports: code and
# location. Profiles that are not listed report none.
FILES = [
    ("array", "strict", {}),
    ("dict", "strict", {}),
    ("created", "strict", {}),
    ("created_blobs", "strict", {}),
    ("objects", "flux", {"strict": [("R101", "")]}),
    ("jobspec", "flux", {"strict": [("R130", SCRIPT)]}),
    (
        "legacy",
        "legacy",
        {profile: [("R170", f"/{n}") for n in range(3)] for profile in ("strict", "flux", "legacy")},
    ),
    (
        "untidy",
        "flux",
        {
            "strict": [
                ("R111", "/.~1a~1~1b"),
                ("R130", "/.~1a~1~1b"),
                ("R143", "/.~1a~1~1b/data"),
                ("R112", "/~1c"),
                ("R130", "/~1c"),
                ("R144", "/~1c/data"),
                ("R105", "/k/path"),
                ("R134", "/k/size"),
                ("R134", "/l/encoding"),
                ("R151", "/g/data/1"),
                ("R151", "/g/data/1"),
                ("R154", "/g/data/0/2"),
            ],
            **dict.fromkeys(
                ("flux", "legacy"),
                [
                    ("R111", "/.~1a~1~1b"),
                    ("R143", "/.~1a~1~1b/data"),
                    ("R112", "/~1c"),
                    ("R144", "/~1c/data"),
                    ("R105", "/k/path"),
                    ("R134", "/k/size"),
                    ("R134", "/l/encoding"),
                    ("R151", "/g/data/1"),
                    ("R151", "/g/data/1"),
                ],
            ),
        },
    ),
]


def entries(text):
    """Returns the entries of a document, each with its path."""
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    if len(values) > 1:
        return values
    value = values[0]
    if isinstance(value, list):
        return value
    value = value["attributes"]["system"]["files"] if "attributes" in value else value
    return [{"path": key, **entry} for key, entry in value.items()]


def content(entry):
    """Returns the bytes of a regular file."""
    data = entry.get("data")
    if "blobvec" in entry and data is not None:
        found = base64.b64decode(data)
    elif entry.get("encoding") == "blobvec" or "blobvec" in entry:
        found = bytearray(entry["size"])
        for offset, size, blobref, *_ in data or entry["blobvec"]:
            blob = BLOBS[blobref.lower()]
            assert len(blob) == size
            found[offset : offset + size] = blob
    elif entry.get("encoding") == "utf-8":
        found = data.encode()
    elif entry.get("encoding") == "base64":
        found = base64.b64decode(data + "=" * (-len(data) % 4))
    elif data is not None:
        text = JSON_TEXT[entry["path"]]
        assert json.loads(text) == data
        found = text.encode()
    else:
        found = bytes(entry["size"])
    assert entry.get("size", len(found)) == len(found), entry
    return bytes(found)


def node(entry):
    """Returns the properties of an extracted entry on disk, with umask 022."""
    mode, times = entry["mode"], {"mtime": entry["mtime"]} if "mtime" in entry else {}
    if stat.S_ISLNK(mode):
        return {"type": "l", "target": entry["data"], **times}
    common = {"mode": f"{stat.S_IMODE(mode) & ~0o022:04o}", **times}
    if stat.S_ISDIR(mode):
        return {"type": "d", **common}
    return {"type": "f", **common, "data": base64.b64encode(content(entry)).decode()}


def tree(found):
    nodes = {"/".join(part for part in entry["path"].split("/") if part not in ("", ".")): node(entry) for entry in found}
    for path in list(nodes):
        parts = path.split("/")
        for end in range(1, len(parts)):
            nodes.setdefault("/".join(parts[:end]), {"type": "d", "mode": "0755"})
    return dict(sorted(nodes.items()))


def line(entry):
    mode = entry["mode"]
    letter = "d" if stat.S_ISDIR(mode) else "l" if stat.S_ISLNK(mode) else "f"
    return "%s 0%o %8d %s" % (letter, mode & 0o777, entry.get("size", 0), entry["path"])


def created(nodes, chunk_size=None):
    """Returns the archive of a tree as the C writer writes it, with the same time for all entries. With a
    chunk size, every file that is not empty is split into blobs."""
    archive = []
    # The content of a directory precedes the directory itself. Each level is sorted by name.
    def place(item):
        path, found = item
        return path.split("/") + ["\U0010ffff"] * (found["type"] == "d")

    for path, found in sorted(nodes.items(), key=place):
        entry = {"path": path}
        if found["type"] == "l":
            entry["data"] = found["target"]
        elif found["type"] == "f":
            data = base64.b64decode(found["data"])
            if data and chunk_size:
                chunks = [(at, data[at : at + chunk_size]) for at in range(0, len(data), chunk_size)]
                regions = [[at, len(chunk), "sha1-" + hashlib.sha1(chunk).hexdigest()] for at, chunk in chunks]
                BLOBS.update((region[2], chunk) for region, (_, chunk) in zip(regions, chunks))
                entry |= {"encoding": "blobvec", "data": regions}
            elif data:
                try:
                    text = data.decode()
                    assert "\0" not in text
                    entry |= {"encoding": "utf-8", "data": text}
                except (UnicodeDecodeError, AssertionError):
                    entry |= {"encoding": "base64", "data": base64.b64encode(data).decode()}
            entry["size"] = len(data)
        kind = {"d": stat.S_IFDIR, "f": stat.S_IFREG, "l": stat.S_IFLNK}[found["type"]]
        entry |= {"mtime": 1677604007, "mode": kind | int(found.get("mode", "0777"), 8)}
        archive.append(entry)
    return json.dumps(archive, ensure_ascii=False, separators=(",", ":"))


source = tree(entries((DIRECTORY / "array.json").read_text()))
(DIRECTORY / "created.json").write_text(created(source))
(DIRECTORY / "created_blobs.json").write_text(created(source, 7))

cases = []
for name, profile, violations in FILES:
    found = entries((DIRECTORY / f"{name}.json").read_text())
    cases.append(
        {
            "name": name,
            "file": f"{name}.json",
            "profile": profile,
            "ours": {
                "lint": {each: sorted(map(list, violations.get(each, []))) for each in ("strict", "flux", "legacy")},
                "list": [line(entry) for entry in found],
                "tree": tree(found),
            },
        }
    )
expected = {
    "note": "made by generate.py; tree with the umask 022, created archives from that of array.json",
    "blobs": {name: base64.b64encode(blob).decode() for name, blob in sorted(BLOBS.items())},
    "cases": cases,
}
(DIRECTORY / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")
