//! `scibin asdf edit`: opens the tree in the user's editor.
//!
//! The edited text is kept in a temporary file until it has been saved in the ASDF file, or until
//! the user discards it.

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, fs};

use asdf::save::Editor;

use super::change;
use crate::Verdict;
use crate::arguments::asdf::Edit;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn edit(request: &Edit, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    let mut editor = change::open(path, request.in_place, request.force, output)?;
    let before = match editor.tree() {
        Ok(tree) => tree.text().to_owned(),
        // If the tree is invalid, let the user repair its text.
        Err(error) => {
            output.say(&Failure::asdf(path, error));
            String::from_utf8_lossy(editor.file().tree_text()).into_owned()
        }
    };
    let text = write_text(&before).map_err(|error| Failure::other("temporary file", error))?;
    if !let_user_edit(path, &text, &before, &mut editor, output)? {
        fs::remove_file(&text).map_err(|error| Failure::io(&text, error))?;
        return Ok(Verdict::Fine);
    }
    if request.dry_run {
        let report = editor.plan().map_err(|error| kept(path, &text, &error.to_string()))?;
        output.remark(&format_args!("the edited text is in {}", text.display()));
        change::report(path, path, &report, true, output)?;
        return Ok(Verdict::Fine);
    }
    let report = editor.commit().map_err(|error| kept(path, &text, &error.to_string()))?;
    // Remove the text only now that it has been saved in the ASDF file.
    fs::remove_file(&text).map_err(|error| Failure::io(&text, error))?;
    change::report(path, path, &report, false, output)?;
    Ok(Verdict::Fine)
}

/// Lets the user edit the text until it is a valid tree. Returns `false` if the user did not change
/// the text, or discarded the changes.
fn let_user_edit(
    path: &Path,
    text: &Path,
    before: &str,
    editor: &mut Editor,
    output: Output,
) -> Result<bool, Failure> {
    loop {
        let ended = run_editor(text).map_err(|error| kept(path, text, &error.to_string()))?;
        let now = fs::read_to_string(text);
        if !ended.success() {
            let why = format!("the editor failed with {ended}");
            if now.is_ok_and(|now| now == before) {
                fs::remove_file(text).map_err(|error| Failure::io(text, error))?;
                return Err(Failure::other(path.display(), format!("not changed: {why}")));
            }
            return Err(kept(path, text, &why));
        }
        let wrong = match now.map_err(|error| error.to_string()) {
            Ok(now) if now == before => {
                output.result(&format_args!("{}: unchanged", path.display()))?;
                return Ok(false);
            }
            Ok(now) => match editor.set_text(&now) {
                Ok(()) => return Ok(true),
                Err(error) => error.to_string(),
            },
            Err(error) => error,
        };
        output.say(&format_args!("{}: {wrong}", text.display()));
        match ask() {
            Some('e') => {}
            Some('d') => return Ok(false),
            _ => return Err(kept(path, text, &wrong)),
        }
    }
}

/// Asks what to do with text that is not a valid tree. Returns `None` if the question cannot be
/// asked, or if standard input ends.
fn ask() -> Option<char> {
    let mut err = io::stderr().lock();
    loop {
        write!(err, "Edit again (e), discard changes (d), or keep the text and quit (k)? ").ok()?;
        err.flush().ok()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        let answer = line.trim().chars().next().map(|c| c.to_ascii_lowercase());
        if matches!(answer, Some('e' | 'd' | 'k')) {
            return answer;
        }
    }
}

/// Returns the failure of an edit that left the file unchanged. Its message contains the path of
/// the edited text.
fn kept(path: &Path, text: &Path, why: &str) -> Failure {
    let message = format!("not changed: {why}; the edited text is in {}", text.display());
    Failure::other(path.display(), message)
}

/// Writes the text to a temporary file that is not removed automatically.
fn write_text(text: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("scibin-").suffix(".yaml").tempfile()?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

/// Runs the user's editor on a file.
fn run_editor(text: &Path) -> io::Result<ExitStatus> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os);
    let program = named.into_iter().find(|program| !program.is_empty());
    let program = program.unwrap_or_else(|| "vi".into());
    if cfg!(unix) {
        // Let a shell split the variable, because it may contain options.
        let mut script = program;
        script.push(" \"$1\"");
        return Command::new("sh").arg("-c").arg(script).arg("sh").arg(text).status();
    }
    Command::new(program).arg(text).status()
}
