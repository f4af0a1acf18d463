//! Reports as HTML: a single page that contains no scripts and loads no other files.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};

use crate::failure::name;
use crate::output::picture;
use crate::output::print::Elements;

/// The report on a file.
pub(crate) struct Report {
    /// The result of `info --json`.
    pub(crate) info: Value,
    /// The result of `verify --json`.
    pub(crate) verification: Value,
    /// The outline of the tree or layout, or the list of entries in an archive.
    pub(crate) tree: Option<String>,
    pub(crate) pictures: Pictures,
}

/// Thumbnails of arrays.
#[derive(Default)]
pub(crate) struct Pictures {
    /// The name of each array, and its thumbnail as a PNG file.
    pngs: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl Pictures {
    /// The maximum width and height of a thumbnail in pixels.
    const MAX_SIDE: usize = 512;

    /// The maximum size of all thumbnails in bytes.
    const MAX_BYTES: usize = 4 << 20;

    /// Adds a thumbnail of an array, if the array is an image and can be read, and if the total
    /// size of all thumbnails would not exceed [`MAX_BYTES`](Self::MAX_BYTES).
    pub(crate) fn add<E: From<io::Error>>(&mut self, name: String, array: &Elements<'_, E>) {
        if self.bytes >= Self::MAX_BYTES {
            return;
        }
        let mut png = Vec::new();
        let is_drawn = picture::write_png(array, Self::MAX_SIDE, &mut png);
        if matches!(is_drawn, Ok(true)) && self.bytes + png.len() <= Self::MAX_BYTES {
            self.bytes += png.len();
            self.pngs.push((name, png));
        }
    }
}

/// The head of the page. Its security policy forbids scripts and all requests.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>scibin</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 1rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; }
section, details { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { border: 1px solid #8886; padding: .2rem .5rem; text-align: left; vertical-align: top; }
pre { font-size: .85rem; }
figure { display: inline-block; margin: 0 1rem 1rem 0; }
img { image-rendering: pixelated; max-width: 100%; min-width: 8rem; }
.ok { color: #1a7f37; } .bad { color: #cf222e; }
</style>
</head>
<body>
"#;

/// Writes a page with a report on each file.
pub(crate) fn write(out: &mut dyn Write, reports: &[Report]) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    for report in reports {
        report.write(out)?;
    }
    writeln!(out, "</body>\n</html>")
}

impl Report {
    /// Returns the report on a file that cannot be read.
    pub(crate) fn of_failure(failure: Value) -> Self {
        let pictures = Pictures::default();
        Self { info: failure.clone(), verification: failure, tree: None, pictures }
    }

    /// Returns `true` if the verification found nothing wrong.
    pub(crate) fn passed(&self) -> bool {
        self.verification["ok"] == true
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { info, verification, tree, pictures } = self;
        let (class, verdict) =
            if self.passed() { ("ok", "fine") } else { ("bad", "problems found") };
        writeln!(
            out,
            "<article>\n<h1>{}</h1>",
            escaped(&name(Path::new(info["file"].as_str().unwrap_or_default())))
        )?;
        writeln!(out, "<p class=\"{class}\">Verification: {verdict}</p>")?;
        if !pictures.pngs.is_empty() {
            writeln!(out, "<section>\n<h2>Pictures</h2>")?;
            for (pointer, png) in &pictures.pngs {
                let (pointer, data) =
                    (escaped(pointer), base64_simd::STANDARD.encode_to_string(png));
                write!(
                    out,
                    "<figure><img src=\"data:image/png;base64,{data}\" alt=\"{pointer}\">"
                )?;
                writeln!(out, "<figcaption>{pointer}</figcaption></figure>")?;
            }
            writeln!(out, "</section>")?;
        }
        if let Some(tree) = tree {
            writeln!(out, "<section>\n<h2>Tree</h2>\n<pre>{}</pre>\n</section>", escaped(tree))?;
        }
        for (heading, value) in [("Content", info), ("Verification", verification)] {
            writeln!(out, "<section>\n<h2>{heading}</h2>\n{}\n</section>", html(value))?;
        }
        writeln!(out, "</article>")
    }
}

/// Returns a value as HTML: objects and lists of objects are tables, and long lists are folded.
fn html(value: &Value) -> String {
    const FOLDED: usize = 20;

    match value {
        Value::Null => String::new(),
        Value::String(text) => escaped(text),
        Value::Object(members) => {
            let row = |(key, value): (&String, &Value)| {
                format!("<tr><th>{}</th><td>{}</td></tr>\n", escaped(key), html(value))
            };
            let rows: Vec<String> = members.iter().map(row).collect();
            format!("<table>\n{}</table>", rows.concat())
        }
        Value::Array(items) => {
            let list = || items.iter().map(html).collect::<Vec<_>>().join(", ");
            let content = table(items).unwrap_or_else(list);
            if items.len() <= FOLDED {
                return content;
            }
            format!("<details><summary>{} items</summary>\n{content}</details>", items.len())
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns a table with a row for each object and a column for each key. Returns `None` if any item
/// is not an object, if there are no keys, or if there are too many different keys.
fn table(items: &[Value]) -> Option<String> {
    const MAX_COLUMNS: usize = 32;

    let rows: Vec<_> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut keys: Vec<&String> = Vec::new();
    for key in rows.iter().flat_map(|row| row.keys()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
        if keys.len() > MAX_COLUMNS {
            return None;
        }
    }
    if keys.is_empty() {
        return None;
    }
    let heading: Vec<String> = keys.iter().map(|key| escaped(key)).collect();
    let row = |row: &Map<String, Value>| {
        let cell = |key: &&String| row.get(key.as_str()).map(html).unwrap_or_default();
        let cells: Vec<String> = keys.iter().map(cell).collect();
        format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"))
    };
    let rows: Vec<String> = rows.into_iter().map(row).collect();
    let heading = heading.join("</th><th>");
    Some(format!("<table>\n<tr><th>{heading}</th></tr>\n{}</table>", rows.concat()))
}

/// Escapes text from a file for HTML. Replaces control characters, which have no meaning in HTML,
/// with spaces, but keeps line feeds.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_objects_become_tables_with_all_keys() {
        assert_eq!(
            html(&json!([{"a": 1}, {"a": [1, 2], "<b>": "x&y"}])),
            "<table>\n<tr><th>a</th><th>&lt;b&gt;</th></tr>\n\
             <tr><td>1</td><td></td></tr>\n<tr><td>1, 2</td><td>x&amp;y</td></tr>\n</table>"
        );
    }

    #[test]
    fn long_lists_are_folded_in_html() {
        assert!(html(&json!(vec![0; 21])).starts_with("<details><summary>21 items</summary>"));
    }
}
