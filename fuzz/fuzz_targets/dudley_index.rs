//! Opening arbitrary bytes as a compiled layout must either succeed or return an error. Searching a
//! damaged compiled layout must not panic. Searching an intact one must return the address that the
//! resolver computes from the layout text, or report that the compiled layout does not describe the
//! item.
//!
//! The layout ends at the first zero byte. The rest is the stream, and also serves as a list of
//! changes that damage the compiled layout. Each change consists of a two-byte offset and a one-byte
//! value.
#![no_main]

use binio::Bytes;
use dudley::index::CompiledLayout;
use dudley::{ErrorKind, Layout, Limits, OpenOptions, Resolver, Rules};
use libfuzzer_sys::fuzz_target;

/// Maximum number of rows to look up.
const MANY: usize = 100;

fuzz_target!(|data: &[u8]| {
    search(data.to_vec(), &["/".to_owned(), "a".to_owned()], data);
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let (text, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(layout) = Layout::parse(text) else { return };
    let bytes =
        CompiledLayout::compile(&layout, text, None).expect("the layout was parsed from this text");
    assert!(bytes.len() < 200 * text.len() + 1200 * layout.declarations().len() + 1000);

    let stream = rest.to_vec();
    let compiled = CompiledLayout::from_bytes(bytes.clone()).expect("it was compiled");
    let limits = Limits::default().max_steps(20_000);
    let Ok(resolver) = Resolver::new(&layout).rules(Rules::new().limits(limits)).stream(&stream)
    else {
        return;
    };
    let (table, _) = resolver.partial_table();
    let mut paths = Vec::new();
    for row in table.iter().take(MANY) {
        let path = row.path();
        match compiled.locate(&path, Some(&stream)) {
            Ok(found) => {
                assert_eq!(
                    (Some(found.address()), found.nbytes()),
                    (row.address(), row.nbytes().unwrap_or(0))
                );
                assert_eq!((found.shape(), found.dtype()), (&row.shape()[..], &row.dtype()[..]));
            }
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::NotCompiled { .. }),
                    "the compiled layout is intact: {error}"
                );
            }
        }
        paths.push(path);
    }
    let mut damaged = bytes;
    for change in rest.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if let Some(byte) = damaged.get_mut(at) {
            *byte = change[2];
        }
    }
    search(damaged, &paths, rest);
});

fn search(bytes: Vec<u8>, paths: &[String], stream: &[u8]) {
    let Ok(compiled) = CompiledLayout::from_bytes(Bytes::from(bytes)) else { return };
    let limits = Limits::default().max_steps(20_000);
    let options = OpenOptions::new().rules(Rules::new().limits(limits)).compiled(compiled.clone());
    for path in paths {
        let _ = compiled.locate(path, None);
        if let Ok(file) = options.from_bytes(stream.to_vec()) {
            let _ = file.get(path);
        }
    }
}
