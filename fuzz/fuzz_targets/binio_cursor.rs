//! A cursor must never panic, never read past the end of its bytes, and always return the correct
//! offset.

#![no_main]

use binio::Endian;
use binio::number::ByteReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, Vec<(u8, u16)>, Vec<u8>)| {
    let (base, operations, data) = input;
    let mut reader = ByteReader::at(&data, base);
    for (operation, argument) in operations {
        let (offset, remaining) = (reader.offset(), reader.remaining());
        let endian = if argument % 2 == 0 { Endian::Little } else { Endian::Big };
        let n = usize::from(argument);
        let taken = match operation % 12 {
            0 => reader.take(n).map(<[u8]>::len),
            1 => reader.skip(n).map(|()| n),
            2 => reader.array::<7>().map(|bytes| bytes.len()),
            3 => reader.read::<u8>(endian).map(|_| 1),
            4 => reader.read::<i16>(endian).map(|_| 2),
            5 => reader.read::<u32>(endian).map(|_| 4),
            6 => reader.read::<f64>(endian).map(|_| 8),
            7 => reader.read::<u128>(endian).map(|_| 16),
            8 => reader.magic(&argument.to_be_bytes()).map(|()| 2),
            9 => reader.child(n).map(|mut child| {
                assert_eq!(child.offset(), offset);
                assert_eq!(child.rest().len(), n);
                assert!(child.take(1).is_err());
                n
            }),
            10 => Ok(reader.rest().len()),
            _ => {
                assert_eq!(reader.clone().finish().is_ok(), remaining == 0);
                Ok(0)
            }
        };
        match taken {
            Ok(n) => {
                assert_eq!(reader.remaining(), remaining - n);
                assert_eq!(reader.offset(), offset.saturating_add(n as u64));
            }
            Err(error) => {
                assert_eq!(reader.remaining(), remaining, "a failed read consumes no bytes");
                let _ = error.to_string();
            }
        }
    }
});
