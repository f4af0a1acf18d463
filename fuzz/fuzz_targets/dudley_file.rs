//! Opens arbitrary bytes as a file, once without a layout and once with one. The file must be read
//! or rejected without a panic.
//!
//! Without a layout, the input is appended to the first eight bytes of a native signature, so the
//! file must contain its own layout at its end. With a layout, the bytes before the first zero are
//! the layout, and those after it are the file.
#![no_main]

use binio::ReadAt as _;
use dudley::{File, Layout, Limits, OpenOptions, Rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = || {
        let limits = binio::Limits::default().max_alloc(1 << 20);
        OpenOptions::new()
            .limits(limits)
            .rules(Rules::new().limits(Limits::default().max_steps(20_000)))
    };
    let mut native = b"\x8d<BD\r\n\x1a\n".to_vec();
    native.extend(data);
    if let Ok(file) = options().from_bytes(native) {
        read(&file);
    }
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let (text, bytes) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(layout) = Layout::parse(text) else { return };
    if let Ok(file) = options().layout(layout).from_bytes(bytes.to_vec()) {
        read(&file);
    }
});

fn read(file: &File) {
    for &row in file.table().rows().iter().take(50) {
        if let Ok(array) = file.array_of(row) {
            let extent = array.layout().extent();
            assert!(extent.end <= array.data().len());
            let _ = dudley::file::for_numpy(&array);
        }
        let _ = file.write_row_json(row, &mut Limited(1 << 16));
        let path = file.layout().subject_path(row.subject());
        for path in [path.clone(), path.clone() + "[1]", path + "/0/a"] {
            let _ = file.get(&path);
            if let Ok(instances) = file.instances(&path) {
                let _ = instances.iter().take(5).count();
            }
        }
    }
    for address in [0, 8, 16, 17, 40] {
        let _ = file.explain(address);
    }
}

/// A writer that fails after the given number of bytes.
struct Limited(usize);

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
