//! Writes shell completions and man pages of `scibin`: `assets DIRECTORY`.

use std::fs;
use std::io;
use std::path::Path;

use clap_complete::Shell;

fn main() -> io::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "target/assets".to_owned());
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
        clap_complete::generate_to(shell, &mut scibin_cli::command(), "scibin", directory)?;
    }
    clap_mangen::generate_to(scibin_cli::command(), directory)?;
    println!("{} files in {}", fs::read_dir(directory)?.count(), directory.display());
    Ok(())
}
