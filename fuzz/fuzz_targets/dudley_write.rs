//! Creates files from arbitrary layouts without writing any item, once as a stream and once by
//! writing at offsets. Every parameter is 2. Both files must be identical. Opening and extending the
//! file must not panic.
#![no_main]

use dudley::write::{ExtendMode, Extension};
use dudley::{Layout, Limits, OpenOptions, Rules, Values, WriteOptions};
use libfuzzer_sys::fuzz_target;

/// Maximum length of a file in bytes.
const MAX: usize = 1 << 18;

fuzz_target!(|data: &[u8]| {
    let Ok(layout) = Layout::parse(data) else { return };
    let names = layout.params().map(|id| (layout.param_name(id).to_owned(), 2));
    let values: Values = names.collect();
    let limits = binio::Limits::default().max_alloc(1 << 20);
    let resolving = Limits::default().max_steps(20_000);
    let options = WriteOptions::new()
        .rules(Rules::new().values(values.clone()).limits(resolving))
        .limits(limits);

    let mut pipe = Limited(Vec::new());
    let Ok(writer) = options.stream(&mut pipe, layout.clone()) else { return };
    let ends = writer.table().rows().iter().filter_map(|row| Some(row.address()? + row.nbytes()?));
    let len = ends.max().unwrap_or_default();
    if writer.finish().is_err() {
        return;
    }
    if len < MAX as u64 {
        let mut bytes = Vec::new();
        if let Ok(writer) = options.write_at(&mut bytes, layout) {
            if writer.finish().is_ok() {
                assert!(bytes == pipe.0, "the file written at offsets differs from the stream");
            }
        }
    }
    let opened = OpenOptions::new()
        .limits(limits)
        .rules(Rules::new().limits(resolving))
        .from_bytes(pipe.0.clone());
    let Ok(file) = opened else { return };
    if file.stopped().is_some() {
        return;
    }
    for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
        let more = "\nqq_new = i2[3] -> gzip  qq_last = { K : u1  v = u2[K] }[2]";
        if let Ok(mut more) = Extension::new(&pipe.0[..], more, mode, &values) {
            let _ = more.put("/qq_new", &[1_i16, 2, 3]);
        }
    }
});

/// A writer that fails after `MAX` bytes.
struct Limited(Vec<u8>);

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > MAX - self.0.len() {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
