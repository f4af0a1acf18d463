//! Editing existing files: `scibin asdf set`, `rm`, `mv`, `import`.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use asdf::save::{EditOptions, EditReport, Editor, Method, is_read_only};
use asdf::value::Array;
use asdf::{Limits, OpenOptions, ReadAt, Tree};
use binio::write::Discard;
use serde_json::json;

use crate::Verdict;
use crate::arguments::asdf::{Changing, Import, Mv, Parents, Rm, Set};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, print_json, size};

pub(crate) fn set(request: &Set, output: Output) -> Result<Verdict, Failure> {
    let Set { file, pointer, value, parents, changing } = request;
    if value.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        let message = "expected a single YAML value, such as null, \"\" or {}, found empty text";
        return Err(Failure::other("the value", message));
    }
    let value = Tree::parse(value);
    let value = value.map_err(|error| Failure::other("the value", error.to_string()))?;
    change(file, changing, output, |editor| {
        check_parent(file, editor, pointer, parents)?;
        editor.set(pointer, &value).map_err(|error| Failure::asdf(file, error))
    })
}

pub(crate) fn rm(request: &Rm, output: Output) -> Result<Verdict, Failure> {
    let Rm { file, pointer, changing } = request;
    change(file, changing, output, |editor| {
        editor.remove(pointer).map_err(|error| Failure::asdf(file, error))
    })
}

pub(crate) fn mv(request: &Mv, output: Output) -> Result<Verdict, Failure> {
    let Mv { file, pointer, key, changing } = request;
    let key = new_key(pointer, key).map_err(|why| Failure::other(key, why))?;
    change(file, changing, output, |editor| {
        editor.rename(pointer, &key).map_err(|error| Failure::asdf(file, error))
    })
}

/// Returns the new key: the destination itself or, if the destination is a pointer, the last part
/// of the pointer. Fails if the destination is a pointer into a different mapping.
fn new_key<'d>(entry: &str, destination: &'d str) -> Result<Cow<'d, str>, String> {
    let Some((parent, key)) = destination.rsplit_once('/').filter(|_| destination.starts_with('/'))
    else {
        return Ok(destination.into());
    };
    let from = entry.rsplit_once('/').map_or("", |(parent, _)| parent);
    if parent != from {
        return Err(format!(
            "an entry can only be renamed within its own mapping, for example to {from}/{key}; to move it \
             to another mapping, set it there and remove it here"
        ));
    }
    binio::pointer::unescape(key)
        .ok_or_else(|| "`~` in a pointer must be followed by `0` or `1`".to_owned())
}

pub(crate) fn import(request: &Import, output: Output) -> Result<Verdict, Failure> {
    let Import { file, pointer, array: path, compress, inline, parents, changing } = request;
    let source = input::source(path).map_err(|error| Failure::asdf(path, error.into()))?;
    let source: Arc<dyn ReadAt> = Arc::new(source);
    let mut array =
        Array::from_npy(source, Limits::default()).map_err(|error| Failure::asdf(path, error))?;
    if let Some(compression) = compress {
        array = array.compression(*compression);
    }
    change(file, changing, output, |editor| {
        check_parent(file, editor, pointer, parents)?;
        let set = if *inline {
            editor.set_inline(pointer, array)
        } else {
            editor.set_array(pointer, array)
        };
        set.map_err(|error| Failure::asdf(file, error))
    })
}

/// Fails if the node to add has missing parents, unless `--parents` is given.
fn check_parent(
    path: &Path,
    editor: &Editor,
    pointer: &str,
    parents: &Parents,
) -> Result<(), Failure> {
    if parents.parents {
        return Ok(());
    }
    let tree = editor.tree().map_err(|error| Failure::asdf(path, error))?;
    tree.check_parent(pointer).map_err(|error| missing_parent(path, &error))
}

/// Returns the failure for a pointer to a node whose parents do not exist.
pub(super) fn missing_parent(path: &Path, error: &asdf::Error) -> Failure {
    Failure::other(name(path), format!("{error}; --parents creates the missing parents"))
}

/// Opens and locks a file for editing. If an interrupted change is rolled back, prints a remark.
pub(super) fn open(
    path: &Path,
    in_place: bool,
    force: bool,
    output: Output,
) -> Result<Editor, Failure> {
    if is_standard(path) {
        return Err(Failure::other(
            "standard input",
            "cannot be changed; with `-o OUT`, `scibin asdf set`, `rm`, `mv`, `import` and \
             `history` write a changed copy",
        ));
    }
    let is_locked_away = is_read_only(path).map_err(|error| Failure::io(path, error))?;
    if is_locked_away && !force {
        return Err(Failure::other(path.display(), "is read-only; --force changes it"));
    }
    let options = EditOptions::new().in_place(in_place).read_only(force);
    let editor = options.open(path).map_err(|error| Failure::asdf(path, error))?;
    if editor.rolled_back() {
        let path = path.display();
        output.remark(&format_args!("{path}: rolled back an interrupted change"));
    }
    Ok(editor)
}

/// Applies an edit to a file or, with `--output`, to a copy of the file.
pub(super) fn change(
    path: &Path,
    changing: &Changing,
    output: Output,
    edit: impl FnOnce(&mut Editor) -> Result<(), Failure>,
) -> Result<Verdict, Failure> {
    let fail = |error| Failure::asdf(path, error);
    let Changing { output: target, force, dry_run, in_place, externals } = changing;
    let (written, report) = if let Some(target) = target {
        super::check_not_embedded(*externals)?;
        output_file::check(target, *force)?;
        let _lock = output_file::lock(target, *force && !*dry_run)?;
        let mut editor = Editor::from_file(super::open_by(&OpenOptions::new(), path)?);
        edit(&mut editor)?;
        if let Some((_, folder)) = super::folders(path, target, *externals) {
            editor.relocate(folder).map_err(fail)?;
        }
        let report = if *dry_run {
            editor.write_to(Discard::default()).map_err(fail)?
        } else {
            output_file::write_file(target, *force, |out| editor.write_to(out), fail)?
        };
        (target.as_path(), report)
    } else {
        let mut editor = open(path, *in_place, *force, output)?;
        edit(&mut editor)?;
        let report = if *dry_run { editor.plan() } else { editor.commit() };
        (path, report.map_err(fail)?)
    };
    self::report(path, written, &report, *dry_run, output)?;
    Ok(Verdict::Fine)
}

/// Reports the result of an edit, unless standard output contains the file itself.
pub(super) fn report(
    path: &Path,
    target: &Path,
    report: &EditReport,
    dry_run: bool,
    output: Output,
) -> io::Result<()> {
    if is_standard(target) {
        return Ok(());
    }
    let EditReport { method, len, blocks, unused, .. } = report;
    if !unused.is_empty() {
        let numbers: Vec<String> = unused.iter().map(usize::to_string).collect();
        let (path, numbers) = (name(path), numbers.join(", "));
        output.remark(&format_args!(
            "{path}: no array uses these blocks any more, but they still occupy space: {numbers}"
        ));
    }
    if output.json {
        let method = match method {
            Method::Unchanged => "unchanged",
            Method::Patched => "one_write",
            Method::InPlace => "in_place",
            _ => "new_file",
        };
        return print_json(&json!({
            "file": path.display().to_string(), "output": target.display().to_string(),
            "method": method, "bytes": len, "blocks": blocks, "unused_blocks": unused,
            "dry_run": dry_run,
        }));
    }
    let target = target.display();
    if *method == Method::Unchanged {
        return output.result(&format_args!("{target}: unchanged"));
    }
    let would = if dry_run { " would be written" } else { "" };
    output.result(&format_args!("{target}: {}, {}{would}", size(*len), count(*blocks, "block")))
}
