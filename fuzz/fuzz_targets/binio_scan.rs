//! Scanning with windows of any size must find the same matches as a plain search, both in memory
//! and through a reader.

#![no_main]

use std::io::Cursor;

use binio::ReadAt;
use binio::source::{Scanner, Stream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, u16, u16, u16)| {
    let (data, needle, window, start, end) = input;
    let needle = &needle[..needle.len().min(8)];
    let (start, end) = (u64::from(start), u64::from(end));
    let range = start.min(end)..start.max(end);
    let (from, to) =
        (range.start.min(data.len() as u64) as usize, range.end.min(data.len() as u64) as usize);
    let expected: Vec<u64> = if needle.is_empty() {
        Vec::new()
    } else {
        let found = data[from..to].windows(needle.len()).enumerate();
        found.filter(|(_, bytes)| *bytes == needle).map(|(at, _)| (from + at) as u64).collect()
    };
    let stream = Stream::new(Cursor::new(&data)).expect("a cursor has a length");
    let sources: [&dyn ReadAt; 2] = [&data, &stream];
    for source in sources {
        // The scanner always continues at the byte after the start of a match, so skipping to this
        // byte must not change the result.
        let mut forward = Scanner::new(source, needle, range.clone()).window(usize::from(window));
        let mut found = Vec::new();
        while let Ok(Some(at)) = forward.next_match() {
            found.push(at);
            forward.skip_to(at + 1);
            assert!(found.len() <= data.len());
        }
        if !needle.is_empty() && range.end <= data.len() as u64 {
            assert_eq!(found, expected);
        }
    }
});
