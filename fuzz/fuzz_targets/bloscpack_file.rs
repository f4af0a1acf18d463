//! Opens arbitrary bytes as a file. All ways of reading must stay within the limits, and return the
//! same bytes or fail. If a file without diagnostics passes verification and can be read and
//! recovered, the recovered file must begin with the same data.

#![no_main]

use std::io::Cursor;
use std::sync::Arc;

use binio::Limits;
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    ChunkOrder, OpenOptions, Reader, Strictness, UnpackOptions, Verify, VerifyOptions, verify,
    verify_source,
};
use libfuzzer_sys::fuzz_target;

const LIMIT: u64 = 4 << 20;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().max_alloc(LIMIT).max_decoded(LIMIT).max_items(1 << 16);
    let options = OpenOptions::new()
        .limits(limits)
        .order([ChunkOrder::Unambiguous, ChunkOrder::Offsets, ChunkOrder::File][data.len() % 3])
        .verify(if data.len() % 2 == 0 { Verify::OnRead } else { Verify::Never });
    let source = Arc::new(data.to_vec());
    let _ = verify_source(source.clone(), &options, &VerifyOptions::new().threads(1));
    let strict = options.clone().strictness(Strictness::Strict).from_bytes(data.to_vec());
    let opened = options.from_bytes(data.to_vec());
    let all = opened.as_ref().ok().and_then(read);
    if let Ok(strict) = strict {
        let lenient = opened.as_ref().expect("the file can be opened in strict mode");
        assert_eq!(strict.len(), lenient.len());
        assert_eq!(strict.diagnostics().len(), lenient.diagnostics().len());
    }

    let mut sink = Cursor::new(Vec::new());
    let recovery = RecoverOptions::new().limits(limits).skip_bad(data.len() % 4 > 1);
    let recovered = recover(&*source, &mut sink, &recovery);
    if recovered.is_ok() {
        let written = sink.into_inner();
        let file = OpenOptions::new()
            .ignore_metadata(true)
            .from_bytes(written)
            .expect("a recovered file can be opened");
        assert!(file.layout().offsets().is_some());
        let is_whole = opened.as_ref().is_ok_and(|opened| opened.diagnostics().is_empty())
            && verify(opened.as_ref().expect("the file was opened"), &VerifyOptions::new())
                .is_ok_and(|report| report.passed());
        if let Some(all) = all.filter(|_| is_whole) {
            assert!(file.read_all().expect("it was read").starts_with(&all));
        }
    }
});

/// Returns all data after checking that all ways of reading it agree, or `None` if it cannot be
/// read.
fn read(file: &Reader) -> Option<Vec<u8>> {
    let all = file.read_all();
    // Use several threads only for some inputs, because starting them costs more than the work
    // itself.
    let most = if file.layout().file_len() % 8 == 0 { 2 } else { 1 };
    for threads in 1..=most {
        let options = UnpackOptions::new().threads(threads);
        let mut written = Vec::new();
        let unpacked = file.unpack_to(&mut written, &options);
        let parallel = file.read_all_parallel(&options);
        if let Ok(all) = &all {
            unpacked.expect("it was read");
            assert_eq!(written, *all);
            assert_eq!(parallel.expect("it was read"), *all);
        } else {
            assert!(parallel.is_err(), "{all:?}");
        }
    }
    let all = all.ok()?;
    let len = all.len();
    for range in [0..len / 2, len / 3..len, len.saturating_sub(1)..len] {
        let mut part = vec![0; range.len()];
        file.read_exact_at(&mut part, range.start as u64)
            .expect("all data was read, so a range can be read");
        assert_eq!(part, all[range]);
    }
    Some(all)
}
