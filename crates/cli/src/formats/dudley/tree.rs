//! `scibin dudley tree`: shows the declarations of a layout.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use dudley::ParseOptions;
use serde_json::{Value, json};

use super::parse;
use crate::Verdict;
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json};

pub(super) fn tree(path: &Path, output: Output) -> Result<Verdict, Failure> {
    let layout = parse(path, &ParseOptions::new())?;
    let json = json!(layout);
    if output.json {
        print_json(&json)?;
        return Ok(Verdict::Fine);
    }
    io::stdout().lock().write_all(outline(&json).as_bytes())?;
    Ok(Verdict::Fine)
}

/// Returns the outline of a layout, computed from the JSON form of the layout.
pub(super) fn outline(json: &Value) -> String {
    let mut text = String::new();
    let order = json["order"].as_str().map(|order| format!("  {order}")).unwrap_or_default();
    line(&mut text, 0, &format!("/{order}"), json);
    if json["summary"].as_object().is_some_and(|summary| !summary.is_empty()) {
        line(&mut text, 1, "{}", &json["summary"]);
    }
    inside(&mut text, 1, json);
    text
}

/// Appends a line for a declaration, with its documentation and attributes.
fn line(text: &mut String, depth: usize, declared: &str, json: &Value) {
    let _ = write!(text, "{}{}", "  ".repeat(depth), one_line(declared));
    let docs: Vec<&str> = array(&json["docs"]).iter().filter_map(Value::as_str).collect();
    if !docs.is_empty() {
        let _ = write!(text, "  ## {}", one_line(&docs.join(" ")));
    }
    if let Some(attributes) = json["attributes"].as_object() {
        let one = |(name, value): (&String, &Value)| match value {
            Value::Null => name.clone(),
            value => format!("{name}={value}"),
        };
        let attributes: Vec<String> = attributes.iter().map(one).collect();
        let _ = write!(text, "  #: {}", one_line(&attributes.join(", ")));
    }
    text.push('\n');
}

fn inside(text: &mut String, depth: usize, json: &Value) {
    for name in ["items", "elements", "members"] {
        for (at, one) in array(&json[name]).iter().enumerate() {
            let name = one["name"].as_str().map_or_else(|| format!("[{at}]"), quoted);
            line(text, depth, &format!("{name}{}", declared(one)), one);
            inside(text, depth + 1, one);
        }
    }
}

/// Returns the part of a declaration that follows the name.
fn declared(json: &Value) -> String {
    let part = |name: &str| json[name].as_str().map(|text| format!(" {text}")).unwrap_or_default();
    match json["kind"].as_str() {
        Some("dict") => "/".to_owned(),
        Some("list") => " []".to_owned(),
        Some("type") => {
            let align = json["align"].as_u64().map(|align| format!("%{align}"));
            format!(" {{{}}}", align.unwrap_or_default())
        }
        Some("parameter") => match json["value"].as_i64() {
            Some(value) => format!(" : {value}"),
            None => format!(" :{}{}", part("dtype"), part("place")),
        },
        _ if json["repeats"] == true => part("place"),
        _ => {
            let dim = |dim: &Value| dim.as_str().map_or_else(|| dim.to_string(), str::to_owned);
            let shape: Vec<String> = array(&json["shape"]).iter().map(dim).collect();
            let shape =
                if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
            format!(" ={}{shape}{}{}", part("dtype"), part("filter"), part("place"))
        }
    }
}

fn array(json: &Value) -> &[Value] {
    json.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a name, quoted if necessary.
fn quoted(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}
