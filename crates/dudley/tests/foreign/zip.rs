//! Building zip archives by hand.

pub(crate) struct Member<'b> {
    pub(crate) name: &'b str,
    pub(crate) bytes: &'b [u8],
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// The offset that the directory entry states for the member, or `None` for the correct offset.
    pub(crate) at: Option<u32>,
}

impl<'b> Member<'b> {
    pub(crate) fn stored(name: &'b str, bytes: &'b [u8]) -> Self {
        Self { name, bytes, method: 0, flags: 0, at: None }
    }
}

fn short(number: usize) -> [u8; 2] {
    u16::try_from(number).unwrap().to_le_bytes()
}

fn long(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap().to_le_bytes()
}

/// Returns an archive in the form that zip programs write. The archive has a comment.
pub(crate) fn archive(members: &[Member<'_>]) -> Vec<u8> {
    let (mut out, directory) = bodies(members, false);
    let start = out.len();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([short(members.len()), short(members.len())].concat());
    out.extend([long(directory.len()), long(start)].concat());
    out.extend(short(7));
    out.extend(b"comment");
    out
}

/// Returns an archive with 64-bit sizes and offsets.
pub(crate) fn archive_64(members: &[Member<'_>]) -> Vec<u8> {
    let (mut out, directory) = bodies(members, true);
    let start = out.len();
    out.extend(&directory);
    let end = out.len();
    out.extend(b"PK\x06\x06");
    out.extend(44_u64.to_le_bytes());
    out.extend([0; 12]);
    for number in [members.len(), members.len(), directory.len(), start] {
        out.extend((number as u64).to_le_bytes());
    }
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend((end as u64).to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([0xff; 12]);
    out.extend([0; 2]);
    out
}

/// Returns the bytes of the members with their headers, and the bytes of the central directory.
fn bodies(members: &[Member<'_>], is_wide: bool) -> (Vec<u8>, Vec<u8>) {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let at = member.at.map_or(out.len(), |at| at as usize);
        let size = member.bytes.len();
        let wide = |numbers: &[usize]| {
            let mut extra = [short(1), short(8 * numbers.len())].concat();
            for &number in numbers {
                extra.extend((number as u64).to_le_bytes());
            }
            extra
        };
        let sizes = if is_wide { [0xff; 8].to_vec() } else { [long(size), long(size)].concat() };
        let head = [short(20), short(member.flags.into()), short(member.method.into())].concat();
        let name = member.name.as_bytes();
        let local = if is_wide { wide(&[size, size]) } else { vec![] };
        out.extend(b"PK\x03\x04");
        out.extend([&head[..], &[0; 8], &sizes, &short(name.len()), &short(local.len())].concat());
        out.extend([name, &local, member.bytes].concat());
        let extra = if is_wide { wide(&[size, size, at]) } else { vec![] };
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend([&head[..], &[0; 8], &sizes].concat());
        directory.extend([short(name.len()), short(extra.len()), short(0)].concat());
        directory.extend([0; 8]);
        directory.extend(if is_wide { [0xff; 4] } else { long(at) });
        directory.extend([name, &extra].concat());
    }
    (out, directory)
}
