//! Removing named temporary files before a signal ends the program.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::{Deref, DerefMut};

use binio::write::TemporaryFile;
use tempfile::NamedTempFile;

/// A temporary file that can be opened by its path. It is removed when this value is dropped.
pub(crate) struct Spool {
    file: NamedTempFile,
    _registered: Option<TemporaryFile>,
}

impl Spool {
    pub(crate) fn new() -> io::Result<Self> {
        let mut registered = None;
        let file = tempfile::Builder::new().make(|path| {
            let remove = path.to_owned();
            let (file, temporary) = TemporaryFile::create(
                move || drop(fs::remove_file(&remove)),
                || private_file().create_new(true).open(path),
            )?;
            registered = Some(temporary);
            Ok(file)
        })?;
        Ok(Self { file, _registered: registered })
    }
}

/// Returns options for a file that only its owner can read and write.
fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl Deref for Spool {
    type Target = NamedTempFile;

    fn deref(&self) -> &NamedTempFile {
        &self.file
    }
}

impl DerefMut for Spool {
    fn deref_mut(&mut self) -> &mut NamedTempFile {
        &mut self.file
    }
}

/// Makes SIGHUP, SIGINT and SIGTERM remove temporary files before they end the program as usual.
#[cfg(unix)]
pub(crate) fn remove_temporaries_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let wait = move || {
        for signal in signals.forever() {
            binio::write::remove_temporaries();
            // Run the default handler, which ends the process.
            let _ = emulate_default_handler(signal);
        }
    };
    // Ignore a failure. Without this thread, the signals would no longer end the program, but a
    // program that cannot start a thread will soon fail anyway.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Returns `true` if the parent process, such as `nohup`, made the program ignore a signal. Always
/// returns `false` on a system without `/proc/self/status`, such as macOS.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
pub(crate) fn remove_temporaries_on_signals() {}
