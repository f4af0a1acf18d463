//! `scibin asdf history`: prints the history of a file, or adds an entry to it.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use asdf::tree::metadata::{ExtensionMetadata, History, HistoryEntry, Software};
use serde_json::{Value, json};

use super::change;
use crate::Verdict;
use crate::arguments::asdf::{Changing, Externals, HistoryRequest};
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json};

pub(super) fn history(request: &HistoryRequest, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    if let Some(description) = &request.add {
        let changing = Changing {
            output: request.output.clone(),
            force: request.force,
            dry_run: request.dry_run,
            in_place: request.in_place,
            externals: Externals::default(),
        };
        let entry = HistoryEntry::new(description).at(SystemTime::now());
        let entry = entry.software(vec![Software::ours()]);
        return change::change(path, &changing, output, |editor| {
            editor.add_history_entry(&entry).map_err(|error| Failure::asdf(path, error))
        });
    }
    let file = super::open(path, &request.reading)?;
    let fail = |error| Failure::asdf(path, error);
    let (library, history) = (file.library().map_err(fail)?, file.history().map_err(fail)?);
    if output.json {
        print_json(&history_json(path, library.as_ref(), &history))?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_text(&mut out, library.as_ref(), &history)?;
        out.flush()?;
    }
    super::remark(path, &file, output);
    Ok(super::verdict_on(&file))
}

fn write_text(
    out: &mut dyn Write,
    library: Option<&Software>,
    history: &History,
) -> io::Result<()> {
    if let Some(library) = library {
        writeln!(out, "library    {}", one_line(&named(library)))?;
    }
    for extension in &history.extensions {
        let about = match &extension.software {
            Some(software) => format!("{} ({})", title(extension), named(software)),
            None => title(extension).to_owned(),
        };
        writeln!(out, "extension  {}", one_line(&about))?;
    }
    for entry in &history.entries {
        let time = entry.time.as_deref().unwrap_or("no time");
        let software: Vec<String> = entry.software.iter().map(named).collect();
        let by =
            if software.is_empty() { String::new() } else { format!(" ({})", software.join(", ")) };
        writeln!(out, "{}", one_line(&format!("entry      {time}  {}{by}", entry.description)))?;
    }
    Ok(())
}

fn named(software: &Software) -> String {
    format!("{} {}", software.name, software.version)
}

fn title(extension: &ExtensionMetadata) -> &str {
    extension.extension_uri.as_deref().unwrap_or(&extension.extension_class)
}

fn history_json(path: &Path, library: Option<&Software>, history: &History) -> Value {
    let extension = |extension: &ExtensionMetadata| {
        json!({
            "extension_class": extension.extension_class,
            "extension_uri": extension.extension_uri,
            "manifest_software": extension.manifest_software.as_ref().map(software_json),
            "software": extension.software.as_ref().map(software_json),
        })
    };
    let entry = |entry: &HistoryEntry| {
        let software: Vec<Value> = entry.software.iter().map(software_json).collect();
        json!({"description": entry.description, "time": entry.time, "software": software})
    };
    json!({
        "file": path.display().to_string(),
        "library": library.map(software_json),
        "extensions": history.extensions.iter().map(extension).collect::<Vec<_>>(),
        "entries": history.entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn software_json(software: &Software) -> Value {
    json!({
        "name": software.name, "version": software.version,
        "author": software.author, "homepage": software.homepage,
    })
}
