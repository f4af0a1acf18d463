"""Writes random YAML texts, many of them invalid, and the trees of a corpus, each with the result of PyYAML's C
loader: `yaml_texts.py DIRECTORY`. The Rust test `interop` then reads the texts, and compares the results.
`SCIBIN_INTEROP_TEXTS` sets the number of random texts, and `SCIBIN_INTEROP_SEED` the seed.

Each line of `yaml.jsonl` is an object with the `text` and either
- `rejected`, the message with which PyYAML rejects the text, or
- `events`, a list of [kind, anchor, tag, style, text], and either `json`, the value as `scibin asdf tree --json`
  prints it, or `unmade`, the reason why there is no value to compare."""

import base64
import datetime
import json
import math
import os
import pathlib
import random
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[4]
YAML = "tag:yaml.org,2002:"
STYLES = {None: "", "": "", "'": "'", '"': '"', "|": "|", ">": ">"}

# Plain scalars that match the pattern of a type, or nearly match it.
PLAIN = """1 -2 +3 017 08 0x1F 0b101 0b_ 1_000 1:30 1:60 -1:30.5 1.5 1. .5 -.5 1e3 1.0e+3 1.5E-7 .inf -.INF .nan
.NaN 1.79e+309 ~ null NULL nUll yes No TRUE on y n 2001-12-14 2001-1-2 2001-12-14t21:59:43.10-05:00
2001-12-14 21:59:43 2024-02-30 = << word a-b x:y http://a.b/c a#b -x ?x :x é 漢字 😀 99999999999999999999
123456789012345678901234567890123456789012 0o17 -0 00 tru /~ a'b a"b a\\b !x""".split(" ")
WORDS = ["a", "bb", "ccc", "d e", "é", "漢", "x,", "y]", "{z", "- q", "#h", "k:", ": v", "'s", '"t', "&", "*", "!", "%", "\\n", "\u00a0", "😀"]
BREAKS = ["\n"] * 30 + ["\r\n"] * 3 + ["\r", "\u0085", "\u2028", "\u2029"]
TAGS = ["!!str", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!timestamp", "!!seq", "!!map", "!!set", "!!omap", "!!pairs", "!local", "!", "!e!x", "!<tag:a,2000:b>", "!<!v>", "!core/x-1.0.0", "!a%21b"]
ODD = list(":-?[]{},&*!|>'\"%@`#\t \n\n\r~<=.0aé") + ["\u0085", "\u2028", "\u2029", "\ufeff", "\x07", "\u00a0", "---", "...", "\n...\n", "\n---\n", ": ", "- ", "? ", " #", "\n  ", "\\", "<<: ", "&a ", "*a", "!!int ", "%YAML 1.1\n", "|-\n", ">+2\n"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.anchors = []
        self.names = 0

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def one(self, *choices):
        return self.random.choice(choices)

    def text(self):
        roll = self.random.random()
        if roll < 0.04:
            self.line_break = self.random.choice(BREAKS)
        else:
            self.line_break = "\n"
        self.anchors, self.names = [], 0
        head = ""
        if self.chance(40):
            head = self.one("---\n", "--- ", "%YAML 1.1\n---\n", "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- ", "%TAG !e! tag:e,1:\n---\n", "# first\n---  # c\n", "\n\n---\n")
        body = self.block(0, 0) if self.chance(75) else self.flow(0) + "\n"
        if head.endswith("--- ") and body.startswith(("-", "?", " ")):
            head = head[:-1] + "\n"
        tail = self.one("", "", "", "...\n", "# end\n", "\n\n", "...")
        text = head + body.lstrip("\n") + tail
        if self.line_break != "\n":
            text = text.replace("\n", self.line_break)
        if self.chance(10):
            text = text.replace("\n", self.random.choice(BREAKS), 1)
        if self.chance(10):
            text = text.rstrip("\n")
        if self.chance(45):
            for _ in range(self.random.randint(1, 3)):
                text = self.mutate(text)
        return text

    def mutate(self, text):
        at = self.random.randint(0, len(text))
        match self.random.randint(0, 7):
            case 0:
                return text[:at] + text[at + self.random.randint(1, 3):]
            case 1 | 2 | 3:
                return text[:at] + self.random.choice(ODD) + text[at:]
            case 4:
                return text[:at]
            case 5:
                lines = text.split("\n")
                line = self.random.randrange(len(lines))
                lines[line] = " " * self.random.randint(0, 3) + lines[line] if self.chance(50) else lines[line].lstrip(" ")
                return "\n".join(lines)
            case 6:
                lines = text.split("\n")
                lines.insert(self.random.randrange(len(lines)), self.random.choice(lines))
                return "\n".join(lines)
            case _:
                end = min(len(text), at + self.random.randint(1, 12))
                return text[:end] + text[at:]

    def properties(self):
        parts = []
        if self.chance(8):
            name = self.one("a", "b", "id001", f"n{self.names}", "a-b", "ä" if self.chance(3) else "x_1")
            self.names += 1
            self.anchors.append(name)
            parts.append("&" + name)
        if self.chance(8):
            parts.append(self.random.choice(TAGS))
        self.random.shuffle(parts)
        return "".join(part + " " for part in parts)

    def alias(self):
        return "*" + self.random.choice(self.anchors) + " " if self.anchors and self.chance(8) else None

    def plain(self, flow):
        if self.chance(60):
            word = self.random.choice(PLAIN)
            return word if not (flow and any(c in word for c in ",[]{}")) else "w"
        return " ".join(self.random.choice(["a", "bb", "c-d", "e:f", "g#h", "é", "漢字", "x'y", "1", "-z"]) for _ in range(self.random.randint(1, 4)))

    def quoted(self, indent):
        words = [self.random.choice(WORDS) for _ in range(self.random.randint(0, 5))]
        fold = lambda: self.one(" ", " ", "  ", "\n" + " " * (indent + 1), " \n\n" + " " * (indent + 1), "\n \t" + " " * indent)
        if self.chance(50):
            return "'" + "".join(word.replace("'", "''") + (fold() if self.chance(60) else "") for word in words) + "'"
        escape = lambda: self.one("", "", "\\n", "\\t", "\\x41", "\\u00e9", "\\U0001F600", "\\\\", '\\"', "\\ ", "\\_", "\\N", "\\L", "\\P", "\\0", "\\e", "\\/", "\\\n" + " " * (indent + 1))
        return '"' + "".join(word.replace("\\", "\\\\").replace('"', '\\"') + escape() + (fold() if self.chance(50) else "") for word in words) + '"'

    def scalar(self, indent, flow):
        """Returns a scalar on the current line, which may continue on lines that are indented more."""
        if self.chance(65):
            text = self.plain(flow)
            if self.chance(8):
                text += "\n" * self.random.randint(1, 2) + " " * (indent + self.random.randint(1, 3)) + self.plain(flow)
            return text
        return self.quoted(indent)

    def block_scalar(self, indent):
        step = self.random.randint(1, 4)
        hint = str(step) if self.chance(15) else ""
        head = self.one("|", ">") + (hint + self.one("", "-", "+") if self.chance(50) else self.one("", "-", "+") + hint)
        if self.chance(10):
            head += " # comment"
        lines = []
        for _ in range(self.random.randint(0, 5)):
            more = " " * self.one(0, 0, 0, 1, 3)
            line = self.one("", "text", "# no comment", "a: b", "- x", "é 漢", "\ttab", "trailing  ", "  ", "'")
            lines.append(" " * (indent + step) + more + line if line or self.chance(30) else "")
        return head + "\n" + "".join(line + "\n" for line in lines)

    def comment(self):
        return self.one("  # comment", " #", " # é: [") if self.chance(6) else ""

    def blank(self, indent):
        return self.one("\n", "# line\n", " " * indent + "# in\n", "   \n") if self.chance(5) else ""

    def key(self, flow):
        if self.chance(2):
            return "<<"
        alias = self.alias()
        if alias:
            return alias
        name = self.one("a", "b", "key", "k y", "7", "yes", "1.5", "~", "é", "'q'", '"d"', "2001-12-14", f"k{self.random.randint(0, 99)}")
        return self.properties() + name

    def block(self, indent, depth):
        """Returns the lines of a node in block style, with a line break at the end."""
        kind = self.random.random()
        if depth > 3 or kind < 0.1:
            pad = " " * indent
            return pad + self.properties() + (self.block_scalar(indent) if self.chance(30) else self.scalar(indent, False) + self.comment() + "\n")
        count = self.random.randint(1, 4)
        pad = " " * indent
        lines = []
        if kind < 0.45:
            for _ in range(count):
                lines.append(self.blank(indent) + pad + "-" + self.value(indent, depth, True))
        else:
            for _ in range(count):
                lines.append(self.blank(indent))
                if self.chance(5):
                    lines.append(pad + "? " + self.scalar(indent, False) + "\n" + pad + ":" + self.value(indent, depth, False))
                else:
                    lines.append(pad + self.key(False) + self.one(":", ":", ":", " :") + self.value(indent, depth, False))
        return "".join(lines)

    def value(self, indent, depth, item):
        """Returns the text of a value after a dash or a colon, up to the end of its last line."""
        blanks = self.one(" ", " ", " ", "  ", "   ", "\t") if self.chance(15) else " "
        alias = self.alias()
        if alias:
            return blanks + alias.rstrip() + self.comment() + "\n"
        roll = self.random.random()
        if roll < 0.08:
            return self.comment() + "\n"
        if roll < 0.45:
            return blanks + self.properties() + self.scalar(indent, False) + self.comment() + "\n"
        if roll < 0.55:
            return blanks + self.properties() + self.block_scalar(indent)
        if roll < 0.75:
            return blanks + self.properties() + self.flow(depth + 1, indent) + self.comment() + "\n"
        inner = self.block(indent + self.random.randint(1, 4), depth + 1)
        if item and self.chance(50) and inner.startswith(" "):
            # Begin the collection on the line of the dash.
            width = len(inner) - len(inner.lstrip(" ")) - indent - 1
            if width > 0 and "\n" in inner:
                return " " * width + inner.lstrip(" ")
        if not item and self.chance(20):
            # Do not indent the collection below its key.
            inner = self.block(indent, depth + 1)
            if not inner.lstrip(" ").startswith("-"):
                inner = " " + inner.replace("\n", "\n ").rstrip(" ")
        properties = self.properties().rstrip()
        return (" " + properties if properties else "") + self.comment() + "\n" + inner

    def flow(self, depth, indent=0):
        if depth > 3 or self.chance(15):
            return self.properties() + self.scalar(indent, True)
        if self.chance(8):
            return "[" + ", ".join(repr(self.random.choice([1.5, -2, 0.1, 1e300, 7, float(self.random.random())])) for _ in range(self.random.randint(1, 30))) + "]"
        space = lambda: self.one("", " ", " ", "\n" + " " * (indent + 1), "  ", " # c\n" + " " * (indent + 2)) if self.chance(30) else ""
        parts = []
        is_map = self.chance(45)
        for _ in range(self.random.randint(0, 4)):
            value = self.alias() or self.flow(depth + 1, indent)
            if is_map:
                roll = self.random.random()
                if roll < 0.75:
                    value = self.key(True) + ": " + value
                elif roll < 0.85:
                    value = '"' + "j" + '":' + value
                elif roll < 0.9:
                    value = "? " + self.key(True) + " : " + value
            elif self.chance(8):
                value = self.key(True) + ": " + value
            parts.append(space() + value + space())
        end = "," if parts and self.chance(8) else ""
        brackets = "{}" if is_map else "[]"
        return brackets[0] + ",".join(parts) + end + brackets[1]


class Events(list):
    unmade = None


def events(text):
    """Returns the events of a text, which must contain at most one document."""
    found = Events()
    documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        tag = None if tag == "!" else tag
        match event:
            case yaml.DocumentStartEvent():
                documents += 1
            case yaml.ScalarEvent():
                if event.tag == "!" and not event.value and not event.style:
                    found.unmade = "an empty node with the tag `!`, which libyaml makes text and other nodes not"
                found.append(["scalar", anchor, tag, STYLES[event.style], event.value])
            case yaml.AliasEvent():
                found.append(["alias", anchor, None, "", ""])
            case yaml.SequenceStartEvent():
                found.append(["sequence", anchor, tag, "flow" if event.flow_style else "block", ""])
            case yaml.MappingStartEvent():
                found.append(["mapping", anchor, tag, "flow" if event.flow_style else "block", ""])
            case yaml.CollectionEndEvent():
                found.append(["end", None, None, "", ""])
    if documents > 1:
        raise yaml.YAMLError(f"{documents} documents")
    return found


class Unmade(Exception):
    """Raised if PyYAML creates no value, or a value that is not comparable."""


def value(loader, node, path=()):
    """Returns the JSON form of a composed node. `path` contains the nodes above it."""
    if id(node) in path:
        raise Unmade("cycle")
    path = (*path, id(node))
    if isinstance(node, yaml.ScalarNode):
        return scalar(loader, node)
    if isinstance(node, yaml.SequenceNode):
        if node.tag in (YAML + "omap", YAML + "pairs"):
            return [pair(loader, item, path) for item in node.value]
        check_tag(node, "seq")
        return [value(loader, item, path) for item in node.value]
    loader.flatten_mapping(node)
    check_tag(node, "map", "set")
    entries, keys, kinds = {}, {}, {}
    for key, item in node.value:
        name = key_text(loader, key)
        if kinds.setdefault(name, key.tag) != key.tag:
            raise Unmade("keys of two kinds with one name")
        entries[name] = value(loader, item, path)
        keys[name] = value(loader, key, path)
    return list(keys.values()) if node.tag == YAML + "set" else entries


def check_tag(node, *names):
    if node.tag.startswith(YAML) and node.tag[len(YAML):] not in names:
        raise Unmade("a tag of YAML's own on another kind of node")


def pair(loader, node, path):
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        raise Unmade("pairs")
    key, item = node.value[0]
    return [value(loader, key, path), value(loader, item, path)]


def key_text(loader, node):
    if not isinstance(node, yaml.ScalarNode):
        raise Unmade("a collection as key")
    if node.tag in (YAML + "int", YAML + "bool", YAML + "null"):
        key = scalar(loader, node)
        return "null" if key is None else str(key).lower()
    return node.value


def scalar(loader, node):
    if not node.tag.startswith(YAML):
        return node.value
    name = node.tag[len(YAML):]
    if name in ("seq", "map", "set", "omap", "pairs"):
        raise Unmade("a tag of a collection on a scalar")
    if name not in ("null", "bool", "int", "float", "str", "binary", "timestamp"):
        return node.value
    if name == "null" and node.value not in ("", "~", "null", "Null", "NULL"):
        raise Unmade("any text is null")
    if name == "timestamp" and re.fullmatch(r"\d{4}-(\d-\d\d?|\d\d-\d)", node.value):
        raise Unmade("a date of fewer digits is one only by its tag")
    if name == "float" and re.search(r":[6-9]", node.value):
        raise Unmade("a part above 59 is a float only by its tag")
    if name == "int" and "o" in node.value:
        raise Unmade("an octal number of Python is one only by its tag")
    digits = re.sub(r"\s", "", node.value)
    if name == "binary" and (len(digits) % 4 or not re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", digits)):
        raise Unmade("base 64 skips other characters")
    try:
        made = loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, IndexError, TypeError) as error:
        raise Unmade(f"{name} {type(error).__name__}") from error
    if isinstance(made, float) and not math.isfinite(made):
        return "nan" if math.isnan(made) else "inf" if made > 0 else "-inf"
    if isinstance(made, bytes):
        return {"$binary": base64.b64encode(made).decode()}
    if isinstance(made, (datetime.datetime, datetime.date)):
        return made.isoformat()
    return made


def case(text):
    """Returns the result of PyYAML for a text, or `None` if the text cannot be encoded."""
    result = {"text": text}
    try:
        result["events"] = events(text)
        loader = yaml.CSafeLoader(text)
        try:
            if result["events"].unmade:
                raise Unmade(result["events"].unmade)
            node = loader.get_single_node()
            result["json"] = value(loader, node) if node is not None else {}
        finally:
            loader.dispose()
    except yaml.composer.ComposerError as error:
        result["unmade"] = f"composer: {error.problem}"
    except yaml.constructor.ConstructorError as error:
        result["unmade"] = f"constructor: {error.problem}"
    except yaml.reader.ReaderError as error:
        return {"text": text, "rejected": f"reader: {error.reason}"}
    except yaml.YAMLError as error:
        return {"text": text, "rejected": f"{getattr(error, 'context', None)}; {getattr(error, 'problem', error)}"}
    except Unmade as error:
        result["unmade"] = str(error)
    except UnicodeEncodeError:
        return None
    return result


def trees():
    """Yields the trees of our golden files and of the files in the corpus."""
    for folder in (ROOT / "crates/testdata/asdf", ROOT.parent / "shared/corpus/asdf"):
        for path in sorted(folder.rglob("*.asdf")):
            tree = re.search(rb"^%YAML 1\.1.*?^\.\.\.\r?$", path.read_bytes(), re.DOTALL | re.MULTILINE)
            if tree and len(tree[0]) < 4 << 20:
                try:
                    yield tree[0].decode()
                except UnicodeDecodeError:
                    pass


def main(directory):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    count = int(os.environ.get("SCIBIN_INTEROP_TEXTS", 10_000))
    seed = int(os.environ.get("SCIBIN_INTEROP_SEED", 1))
    generator = Generator(seed)
    rejected = written = 0
    with open(directory / "yaml.jsonl", "w", encoding="utf-8") as out:
        for text in (*trees(), *(generator.text() for _ in range(count))):
            result = case(text)
            if result is not None:
                out.write(json.dumps(result) + "\n")
                written += 1
                rejected += "rejected" in result
    print(f"{written} YAML texts, {rejected} of them rejected by PyYAML {yaml.__version__}, libyaml {yaml._yaml.get_version_string()}")


if __name__ == "__main__":
    main(sys.argv[1])
