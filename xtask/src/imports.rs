//! The import graph of a crate, which shows the references between its top-level modules.
//!
//! A reference is a path that begins with `crate::`, or with enough `super::` to reach the root. A
//! name that lib.rs re-exports belongs to the module that defines it. Comments, strings and tests
//! are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{no_more, root};

/// The crates whose modules must not import each other in a cycle.
const CRATES: &[&str] = &["asdf", "binio", "bloscpack", "dudley", "flux-archive"];

/// Known cycles, each given as a crate and the modules that the cycle may contain.
const KNOWN_CYCLES: &[(&str, &[&str])] = &[];

/// Lines that refer to a module, each preceded by its file and line number.
type Lines = Vec<String>;

/// The modules of a crate, and for each module the lines that refer to other modules.
#[derive(Debug, Default)]
struct Graph {
    references: BTreeMap<String, BTreeMap<String, Lines>>,
}

/// `imports`: prints the graph of each crate in [`CRATES`]. Fails if there is an unknown cycle.
pub(crate) fn imports(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    for name in CRATES {
        let graph = Graph::of_crate(name)?;
        println!("{name}\n{}", graph.text());
        check(name, &graph)?;
    }
    Ok(())
}

/// Fails if the graph contains an unknown cycle.
fn check(name: &str, graph: &Graph) -> Outcome {
    for component in graph.components() {
        let is_known = KNOWN_CYCLES.iter().any(|(known, modules)| {
            *known == name && component.iter().all(|module| modules.contains(&module.as_str()))
        });
        if component.len() > 1 && !is_known {
            return Err(format!("{name} has an import cycle: {}", graph.cycle(&component)));
        }
    }
    Ok(())
}

impl Graph {
    fn of_crate(name: &str) -> Result<Self, String> {
        let folder = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        let read = |path: &PathBuf| {
            let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let place = path.strip_prefix(&folder).unwrap_or(path);
            Ok((place.to_string_lossy().replace('\\', "/"), text))
        };
        let files: Vec<_> = files.iter().map(read).collect::<Result<_, String>>()?;
        Self::of(&files)
    }

    /// Builds the graph from files, each given as a path in `src` and its content.
    fn of(files: &[(String, String)]) -> Result<Self, String> {
        let sources: Vec<_> =
            files.iter().map(|(path, text)| (path.as_str(), Source::new(text))).collect();
        let tests: BTreeSet<PathBuf> =
            sources.iter().flat_map(|(path, source)| source.test_modules(path)).collect();
        let is_test = |path: &str| {
            Path::new(path).ancestors().any(|part| tests.contains(&part.with_extension("")))
        };
        let mut names = BTreeMap::new();
        for (path, source) in &sources {
            let Some(module) = module_of(path) else {
                names.extend(source.exports());
                continue;
            };
            for name in source.macros() {
                names.insert(name, module.to_owned());
            }
            names.insert(module.to_owned(), module.to_owned());
        }
        let mut graph = Self::default();
        for (path, source) in &sources {
            let Some(module) = module_of(path).filter(|_| !is_test(path)) else { continue };
            let edges = graph.references.entry(module.to_owned()).or_default();
            for (name, line) in source.references(depth(path)) {
                let place = format!("{path}:{line}: {}", source.line(line));
                let Some(target) = names.get(&name) else {
                    return Err(format!("{place}: `{name}` is not in lib.rs"));
                };
                if target != module && !target.is_empty() {
                    edges.entry(target.clone()).or_default().push(place);
                }
            }
        }
        Ok(graph)
    }

    fn targets(&self, module: &str) -> impl Iterator<Item = &String> {
        self.references.get(module).into_iter().flat_map(BTreeMap::keys)
    }

    fn reachable(&self, module: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = self.targets(module).map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(self.targets(next).map(String::as_str));
            }
        }
        found
    }

    /// Returns the modules in topological order: each module precedes the modules that it imports.
    /// Modules that form a cycle are in the same group.
    fn components(&self) -> Vec<Vec<String>> {
        let reachable: BTreeMap<&str, BTreeSet<&str>> = self
            .references
            .keys()
            .map(|module| (module.as_str(), self.reachable(module)))
            .collect();
        let mut components: Vec<Vec<String>> = Vec::new();
        for (module, reached) in &reachable {
            let meets = |other: &String| {
                reached.contains(other.as_str()) && reachable[other.as_str()].contains(module)
            };
            match components.iter_mut().find(|component| component.iter().any(meets)) {
                Some(component) => component.push((*module).to_owned()),
                None => components.push(vec![(*module).to_owned()]),
            }
        }
        // Sort the modules by the number of modules that they reach, including themselves. A module
        // reaches more modules than any module that it imports, unless both are in the same cycle.
        let count = |component: &Vec<String>| {
            let reached = &reachable[component[0].as_str()];
            reached.len() + usize::from(!reached.contains(component[0].as_str()))
        };
        components.sort_by(|one, other| count(other).cmp(&count(one)).then_with(|| one.cmp(other)));
        components
    }

    /// Formats a row for each module. The row lists the modules to which the module refers, and the
    /// number of references to each.
    fn text(&self) -> String {
        let mut text = String::new();
        for component in self.components() {
            for module in &component {
                let mark = if component.len() > 1 { '*' } else { ' ' };
                let edges = self.references[module].iter();
                let edges: Vec<_> =
                    edges.map(|(target, lines)| format!("{target} {}", lines.len())).collect();
                let _ = writeln!(text, "{mark} {module:<12} {}", edges.join(", "));
            }
        }
        if text.contains('*') {
            text.push_str("* these modules form cycles\n");
        }
        text
    }

    /// Formats the shortest cycle among the given modules, and the lines that cause it.
    fn cycle(&self, component: &[String]) -> String {
        let paths = component.iter().filter_map(|start| self.path_back(start));
        let path = paths.min_by_key(Vec::len).unwrap_or_default();
        let mut text = path.join(" -> ");
        for (from, to) in path.iter().zip(path.iter().skip(1)) {
            let _ = write!(text, "\n  {from} -> {to}");
            for line in &self.references[*from][*to] {
                let _ = write!(text, "\n    {line}");
            }
        }
        text
    }

    /// Returns the shortest path from a module back to itself, or `None` if the module is not
    /// part of a cycle.
    fn path_back<'g>(&'g self, start: &'g str) -> Option<Vec<&'g str>> {
        let mut seen = BTreeSet::new();
        let mut paths = vec![vec![start]];
        while !paths.is_empty() {
            let mut longer = Vec::new();
            for path in paths {
                for next in self.targets(path.last()?) {
                    let path = [path.as_slice(), &[next.as_str()]].concat();
                    if next == start {
                        return Some(path);
                    }
                    if seen.insert(next) {
                        longer.push(path);
                    }
                }
            }
            paths = longer;
        }
        None
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Returns the top-level module that a file belongs to, or `None` for lib.rs.
fn module_of(path: &str) -> Option<&str> {
    let first = path.split('/').next()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (module != "lib").then_some(module)
}

/// Returns the number of `super::` prefixes that lead from the module of a file to the root.
fn depth(path: &str) -> usize {
    path.split('/').filter(|part| *part != "mod.rs").count()
}

/// The text of a file, both complete and without comments, strings and tests.
pub(crate) struct Source<'t> {
    text: &'t str,
    /// The text, with comments, string and character literals, and tests replaced by spaces. The
    /// remaining non-ASCII bytes are replaced by `_`. Byte offsets and lines are the same as in
    /// `text`.
    pub(crate) code: String,
    /// Names of the test modules that have their own files.
    tests: Vec<String>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut code = without_comments(text);
        let tests = remove_tests(&mut code);
        Self { text, code: String::from_utf8_lossy(&code).into_owned(), tests }
    }

    /// Returns the paths, without the extension `.rs`, of the test modules that have their own files.
    fn test_modules(&self, path: &str) -> Vec<PathBuf> {
        let path = Path::new(path);
        let is_root = path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs");
        let folder = if is_root { path.with_file_name("") } else { path.with_extension("") };
        self.tests.iter().map(|name| folder.join(name)).collect()
    }

    fn line_number(&self, at: usize) -> usize {
        self.code[..at].bytes().filter(|&byte| byte == b'\n').count() + 1
    }

    fn line(&self, number: usize) -> &'t str {
        self.text.lines().nth(number - 1).unwrap_or_default().trim()
    }

    /// Returns the end offset of each occurrence of `word`. Only the start of an occurrence must be
    /// at a word boundary, so `word` usually ends with a space or `::`.
    pub(crate) fn after<'s>(&'s self, word: &'s str) -> impl Iterator<Item = usize> + 's {
        let is_start =
            |at: usize| !self.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = self.code.match_indices(word).map(|(at, _)| at);
        found.filter(move |&at| is_start(at)).map(|at| at + word.len())
    }

    fn macros(&self) -> Vec<String> {
        self.after("macro_rules!").map(|at| identifier(self.code[at..].trim_start())).collect()
    }

    /// Returns the names in lib.rs, each with the module that defines it. The module is an empty
    /// string if lib.rs itself or another crate defines the name.
    fn exports(&self) -> BTreeMap<String, String> {
        let mut names: BTreeMap<String, String> =
            self.macros().into_iter().map(|name| (name, String::new())).collect();
        for word in ["fn ", "struct ", "enum ", "const ", "type ", "trait "] {
            names.extend(self.after(word).map(|at| (identifier(&self.code[at..]), String::new())));
        }
        let modules: BTreeSet<_> =
            self.after("mod ").map(|at| identifier(&self.code[at..])).collect();
        for at in self.after("use ") {
            let end = self.code[at..].find(';').map_or(self.code.len(), |end| at + end);
            for path in paths(&self.code[at..end]) {
                let first = path.iter().find(|part| *part != "crate" && *part != "self");
                let module = first.filter(|first| modules.contains(*first));
                if let Some(name) = path.last() {
                    names.insert(name.clone(), module.cloned().unwrap_or_default());
                }
            }
        }
        names
    }

    /// Finds the paths that start at the crate root. For each of them, returns the first name after
    /// the root and the line number of the path. `depth` is the nesting depth of the file's module.
    fn references(&self, depth: usize) -> Vec<(String, usize)> {
        let nested = inline_modules(&self.code);
        let mut found = Vec::new();
        let mut add = |at: usize| {
            let end = self.code[at..].find(';').map_or(self.code.len(), |end| at + end);
            for path in paths(&self.code[at..end]) {
                if let Some(name) = path.into_iter().next() {
                    found.push((name, self.line_number(at)));
                }
            }
        };
        self.after("crate::").for_each(&mut add);
        for start in self.after("super::") {
            if self.code[..start - "super::".len()].ends_with("::") {
                continue;
            }
            let (mut at, mut count) = (start, 1);
            while let Some(rest) = self.code[at..].strip_prefix("super::") {
                (at, count) = (self.code.len() - rest.len(), count + 1);
            }
            if count == depth + nested.iter().filter(|range| range.contains(&at)).count() {
                add(at);
            }
        }
        found.sort_by_key(|(_, line)| *line);
        found
    }
}

pub(crate) fn identifier(text: &str) -> String {
    text.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect()
}

/// Returns the paths in a tree such as `a::{b, c::d as e}`. If the tree renames an import, the new
/// name replaces the last segment of the path. Text after the tree is ignored.
pub(crate) fn paths(tree: &str) -> Vec<Vec<String>> {
    let mut rest = tree.trim_start();
    let mut path: Vec<String> = Vec::new();
    // For each open brace, the number of path segments before it.
    let mut open: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    loop {
        let name = identifier(rest);
        if !name.is_empty() {
            rest = rest[name.len()..].trim_start();
            path.push(name);
            if let Some(after) = rest.strip_prefix("::") {
                rest = after.trim_start();
                continue;
            }
            if let Some(alias) = rest.strip_prefix("as ") {
                let alias = alias.trim_start();
                let name = identifier(alias);
                rest = alias[name.len()..].trim_start();
                path.pop();
                path.push(name);
            }
            found.push(path.clone());
        } else if let Some(inner) = rest.strip_prefix('{') {
            rest = inner.trim_start();
            open.push(path.len());
            continue;
        } else if let Some(after) = rest.strip_prefix('*') {
            rest = after.trim_start();
            found.push(path.clone());
        }
        loop {
            let Some(&len) = open.last() else { return found };
            path.truncate(len);
            if let Some(after) = rest.strip_prefix(',') {
                rest = after.trim_start();
                break;
            }
            let Some(after) = rest.strip_prefix('}') else { return found };
            rest = after.trim_start();
            open.pop();
        }
    }
}

/// Replaces comments, string literals and character literals with spaces, and the remaining
/// non-ASCII bytes with `_`. Keeps line feeds.
fn without_comments(text: &str) -> Vec<u8> {
    let mut code: Vec<u8> = text.bytes().map(|b| if b.is_ascii() { b } else { b'_' }).collect();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let after_name =
            at > 0 && (code[at - 1].is_ascii_alphanumeric() || matches!(code[at - 1], b'_'));
        let len = match rest {
            [b'/', b'/', ..] => find(rest, b"\n"),
            [b'/', b'*', ..] => block_comment(rest),
            [b'"', ..] => quoted(rest, 1, b'"'),
            [b'\'', b'\\', ..] => quoted(rest, 1, b'\''),
            [b'\'', b, b'\'', ..] if *b != b'\'' => 3,
            // A quote begins a lifetime unless it is followed by a multi-byte character and another
            // quote.
            [b'\'', b'_', b'_', ..] => match rest[1..].iter().position(|&byte| byte != b'_') {
                Some(end) if rest[1 + end] == b'\'' => end + 2,
                _ => 1,
            },
            [b'r', b'"' | b'#', ..] | [b'b' | b'c', b'r', b'"' | b'#', ..] if !after_name => {
                raw_string(rest).unwrap_or(1)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let end = (at + len).min(code.len());
        if len > 1 {
            for byte in &mut code[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at = end.max(at + 1);
    }
    code
}

fn find(text: &[u8], what: &[u8]) -> usize {
    text.windows(what.len()).position(|part| part == what).unwrap_or(text.len())
}

fn block_comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of the text up to and including the next unescaped `mark`, starting the
/// search at `start`. If there is no such `mark`, returns more than the length of the text.
fn quoted(text: &[u8], start: usize, mark: u8) -> usize {
    let mut at = start;
    while at < text.len() && text[at] != mark {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the length of a raw string such as `r#".."#`, or `None` for an identifier such as
/// `r#type`.
fn raw_string(text: &[u8]) -> Option<usize> {
    let start = text.iter().position(|byte| *byte == b'#' || *byte == b'"')?;
    let hashes = text[start..].iter().take_while(|&&byte| byte == b'#').count();
    let body = start + hashes + 1;
    if text.get(body - 1) != Some(&b'"') {
        return None;
    }
    let end = [&b"\""[..], &vec![b'#'; hashes]].concat();
    Some(body + find(&text[body..], &end) + end.len())
}

/// Returns the length of the text up to and including the bracket that closes the first opening
/// bracket, or the length of the whole text if that bracket is never closed.
fn bracketed(text: &[u8], open: u8, close: u8) -> usize {
    let mut depth = 0_usize;
    for (at, &byte) in text.iter().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + 1;
            }
        }
    }
    text.len()
}

/// Replaces test-only items with spaces. Returns the names of the test modules that have their own
/// files.
fn remove_tests(code: &mut [u8]) -> Vec<String> {
    let mut modules = Vec::new();
    let mut at = 0;
    while let Some(start) = Some(at + find(&code[at..], b"#[")).filter(|&start| start < code.len())
    {
        let attribute_end = start + bracketed(&code[start..], b'[', b']');
        let attribute =
            String::from_utf8_lossy(&code[start..attribute_end]).replace([' ', '\n'], "");
        at = attribute_end;
        if attribute != "#[cfg(test)]" && !attribute.starts_with("#[cfg(all(test") {
            continue;
        }
        let rest = &code[attribute_end..];
        let semicolon = find(rest, b";");
        let end = if find(rest, b"{") < semicolon {
            bracketed(rest, b'{', b'}')
        } else {
            let item = String::from_utf8_lossy(&rest[..semicolon]).into_owned();
            if let Some((_, name)) = item.split_once("mod ") {
                modules.push(identifier(name));
            }
            (semicolon + 1).min(rest.len())
        };
        at = attribute_end + end;
        for byte in &mut code[start..at] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    modules
}

/// Returns the ranges of the modules that a file defines in braces.
pub(crate) fn inline_modules(code: &str) -> Vec<Range<usize>> {
    let starts = code.match_indices("mod ").filter_map(|(at, word)| {
        let name = identifier(&code[at + word.len()..]);
        let after = at + word.len() + name.len();
        let blanks = code[after..].len() - code[after..].trim_start().len();
        (!name.is_empty() && code[after + blanks..].starts_with('{')).then_some(after + blanks)
    });
    starts.map(|at| at..at + bracketed(&code.as_bytes()[at..], b'{', b'}')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Graph::of(&files).unwrap()
    }

    #[test]
    fn modules_do_not_import_each_other_in_a_cycle() {
        for name in CRATES {
            let graph = Graph::of_crate(name).unwrap();
            assert!(graph.references.len() > 5, "{name}: {graph:?}");
            check(name, &graph).unwrap();
        }
    }

    #[test]
    fn every_form_of_a_path_counts_as_a_reference() {
        let graph = graph(&[
            (
                "lib.rs",
                "mod a; mod b; mod c; mod d; pub mod e; mod f;\n\
                 pub use b::{B, inner::{C as Renamed}};\npub use c::C;",
            ),
            ("a.rs", "use crate::{B, d::{self, D}};\nfn f() -> crate::e::E { super::f::g() }"),
            ("b/mod.rs", "use super::C;"),
            ("b/inner.rs", "use super::B; use super::super::d::D; mod m { use super::C; }"),
            ("c.rs", "use crate::made;"),
            ("d.rs", ""),
            ("e.rs", "use crate::Renamed;"),
            ("f.rs", "macro_rules! made { () => { $crate::d::D } }"),
        ]);
        let targets = |module: &str| graph.targets(module).cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(targets("a"), "b d e f");
        assert_eq!(targets("b"), "c d");
        assert_eq!(targets("c"), "f");
        assert_eq!(targets("e"), "b");
        assert_eq!(targets("f"), "d");
    }

    #[test]
    fn references_in_comments_strings_and_tests_are_ignored() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b;"),
            (
                "a/mod.rs",
                "// crate::b\n/* crate::b /* */ crate::b */\nconst S: [&str; 2] = [\"crate::b \\\" {\", \
                 r#\"crate::b\"#];\nconst C: [char; 3] = ['\"', '\\'', '{'];\nfn f<'a>(_: &'a str) {}\n\
                 #[cfg(test)]\nmod tests { use crate::b; }\n#[cfg(all(test, unix))]\nmod other;",
            ),
            ("a/other.rs", "use crate::b;"),
            ("b.rs", ""),
        ]);
        assert_eq!(graph.targets("a").count(), 0, "{graph:?}");
    }

    #[test]
    fn a_cycle_is_reported_with_the_lines_that_cause_it() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("a.rs", "\nuse crate::b::B;"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "fn f(_: crate::A) {}"),
        ]);
        assert_eq!(
            check("x", &graph).unwrap_err(),
            "x has an import cycle: a -> b -> c -> a\n  a -> b\n    a.rs:2: use crate::b::B;\n  \
             b -> c\n    b.rs:1: use crate::c;\n  c -> a\n    c.rs:1: fn f(_: crate::A) {}"
        );
    }

    #[test]
    fn modules_are_printed_before_the_modules_that_they_import() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", ""),
            ("b.rs", "use crate::{a, c};\nuse crate::a::A;"),
            ("c.rs", "use crate::a;"),
        ]);
        assert_eq!(graph.text(), "  b            a 2, c 1\n  c            a 1\n  a            \n");
    }

    #[test]
    fn a_reference_to_a_name_that_is_not_in_the_root_is_rejected() {
        let files = [("lib.rs", "mod a;"), ("a.rs", "use crate::Unknown;")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let error = Graph::of(&files).unwrap_err();
        assert_eq!(error, "a.rs:1: use crate::Unknown;: `Unknown` is not in lib.rs");
    }
}
