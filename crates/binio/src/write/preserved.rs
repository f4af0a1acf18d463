//! Copying the mode, owner and extended attributes of a file to its replacement.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Copies the mode, owner and extended attributes of the old file to the new `file`. `metadata` is
/// the metadata of the old file.
pub(super) fn copy(old: &Path, metadata: &fs::Metadata, file: &File) -> io::Result<()> {
    copy_owner(metadata, file)?;
    attributes::copy(old, file);
    // Set the mode last, because copying the access control list changes it.
    file.set_permissions(metadata.permissions())
}

/// Sets the owner and group of a file to the owner and group of the old file, if this process is
/// permitted to do so.
#[cfg(unix)]
fn copy_owner(old: &fs::Metadata, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only the superuser can change the owner. Other users may still be able to change the
        // group.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()))
            .or_else(|_| fchown(file, None, Some(old.gid())));
    }
    Ok(())
}

/// Does nothing, because this system has no numeric owners.
#[cfg(not(unix))]
fn copy_owner(_: &fs::Metadata, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
mod attributes {
    //! Copying extended attributes.

    use std::ffi::{CStr, CString};
    use std::fs::File;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fsetxattr, getxattr, listxattr};
    use rustix::io::Errno;

    /// Maximum length in bytes that Linux allows for a list of attribute names, and for an
    /// attribute's value.
    const MAX_LEN: usize = 64 << 10;

    /// Copies the access control list and the attributes in the `user` namespace. System
    /// attributes, such as capabilities, are skipped because they describe the old content.
    /// Attributes that cannot be copied are ignored.
    pub(super) fn copy(from: &Path, to: &File) {
        for name in names(from) {
            let bytes = name.to_bytes();
            if !bytes.starts_with(b"user.") && bytes != b"system.posix_acl_access" {
                continue;
            }
            let mut value = vec![0; MAX_LEN];
            if let Ok(len) = getxattr(from, &*name, &mut value[..]) {
                let _ = fsetxattr(to, &*name, &value[..len], XattrFlags::empty());
            }
        }
    }

    fn names(path: &Path) -> Vec<CString> {
        // Most files have no attributes or only a few, for which a short buffer is enough.
        let mut list = vec![0_u8; 1 << 10];
        let len = match listxattr(path, &mut list[..]) {
            Err(Errno::RANGE) => {
                list = vec![0; MAX_LEN];
                listxattr(path, &mut list[..])
            }
            listed => listed,
        };
        let names = list[..len.unwrap_or(0)].split_inclusive(|&byte| byte == 0);
        names.filter_map(|name| CStr::from_bytes_with_nul(name).ok().map(CStr::to_owned)).collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod attributes {
    //! A substitute for systems on which extended attributes are not copied.

    use std::fs::File;
    use std::path::Path;

    pub(super) fn copy(_: &Path, _: &File) {}
}
