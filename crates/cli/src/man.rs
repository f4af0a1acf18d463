//! Shell completions and man pages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::Verdict;
use crate::failure::Failure;
use crate::help;
use crate::output::Output;

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> io::Result<Verdict> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "scibin", &mut script);
    if shell == Shell::Bash {
        script = without_early_options(&String::from_utf8_lossy(&script)).into_bytes();
    }
    io::stdout().lock().write_all(&script)?;
    Ok(Verdict::Fine)
}

/// Changes the completion script for bash so that it suggests options only after a "-". The
/// generated script always suggests them, so bash would not complete file names.
fn without_early_options(script: &str) -> String {
    script
        .replacen(
            "    opts=\"\"\n",
            "    opts=\"\"\n    local skipped='-*'\n    [[ ${cur} == -* ]] && skipped=''\n",
            1,
        )
        .replace("compgen -W \"${opts}\"", "compgen -W \"${opts}\" -X \"${skipped}\"")
}

/// Writes the man pages of all commands to a folder.
pub(crate) fn pages(directory: &Path, output: Output) -> Result<Verdict, Failure> {
    let fail = |error| Failure::io(directory, error);
    fs::create_dir_all(directory).map_err(fail)?;
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    let mut commands = vec![&command];
    let mut pages = 0;
    while let Some(command) = commands.pop() {
        let source = concat!("scibin ", env!("CARGO_PKG_VERSION"));
        let man = Man::new(command.clone()).source(source);
        let page = page(&man, command).map_err(fail)?;
        fs::write(directory.join(man.get_filename()), page).map_err(fail)?;
        commands.extend(command.get_subcommands().filter(|command| !command.is_hide_set()));
        pages += 1;
    }
    output.result(&format_args!("{}: {pages} pages", directory.display()))?;
    Ok(Verdict::Fine)
}

fn page(man: &Man, command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    // Print only the usage line from `--help`, because the options are listed below.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text([roman(usage)]);
    roff.to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    // Print the examples and exit statuses in the same form as `--help`.
    let mut roff = Roff::new();
    let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    for line in after.lines() {
        match line.strip_suffix(':') {
            Some(heading) if !line.starts_with(' ') => {
                roff.control("fi", []);
                roff.control("SH", [heading.to_uppercase().as_str()]);
                roff.control("nf", []);
                // Indent less than usual, so that the lines fit a terminal.
                roff.control("in", ["4"]);
            }
            _ => {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
        }
    }
    roff.to_writer(&mut page)?;
    Ok(page)
}
