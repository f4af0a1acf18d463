//! Parses arbitrary bytes as a header. Lenient parsing must accept every header that strict parsing
//! accepts, with the same result. Except in version 1, encoding that result must produce the original
//! bytes.

#![no_main]

use bloscpack::Strictness;
use bloscpack::diagnostic::Severity;
use bloscpack::format::{Header, Version};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (mut lenient_diagnostics, mut strict_diagnostics) = (Vec::new(), Vec::new());
    let lenient = Header::parse(data, Strictness::Lenient, &mut lenient_diagnostics);
    let Ok(strict) = Header::parse(data, Strictness::Strict, &mut strict_diagnostics) else {
        if let Err(error) = lenient {
            assert!(error.offset().is_some(), "{error}");
        }
        return;
    };
    assert_eq!(lenient.expect("strict parsing accepts this header"), strict);
    assert!(lenient_diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Note));
    if strict.version != Version::V1 {
        assert_eq!(strict.encode().expect("it was read"), data[..32]);
    }
});
