//! Structs whose instances differ in size, stored one after another.

use std::sync::{Mutex, PoisonError};

use super::value::{Array, File};
use crate::error::{Error, ErrorKind};
use crate::layout::Field;
use crate::place::{Inner, Part, Row, Stored, to_error};

/// The instances of a struct. They may differ in size, so their addresses are found by scanning from the first
/// instance, and are then cached.
pub struct Instances<'f> {
    file: &'f File,
    row: Row,
    stored: Stored,
    path: String,
    count: u64,
    /// The addresses found so far, from the first instance on.
    addresses: Mutex<Vec<u64>>,
}

/// One instance of a struct.
pub struct Instance<'f> {
    file: &'f File,
    row: Row,
    path: String,
    address: u64,
    nbytes: u64,
    parts: Vec<Part>,
}

impl File {
    /// Returns the instances of the struct at a path. They may differ in size (ragged data).
    ///
    /// ```
    /// use dudley::{File, Layout};
    ///
    /// let layout = Layout::parse("x = { N : u1  id = u1  v = u1[N] }[3]")?;
    /// let file = File::from_bytes(vec![2, 7, 1, 2, 0, 8, 1, 9, 3], layout)?;
    /// let mut sums = Vec::new();
    /// for instance in &file.instances("/x")? {
    ///     let v = instance?.get("v")?.read::<u8>()?;
    ///     sums.push(v.iter().sum::<u8>());
    /// }
    /// assert_eq!(sums, [3, 0, 3]);
    /// assert_eq!(file.get("/x[2].v")?.read::<u8>()?, [3]);
    /// assert_eq!(file.get("/x[2].id")?.read::<u8>()?, [9]);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`locate`](Self::locate), but does not fail for instances of different sizes. Also fails with
    /// [`NotStrided`](ErrorKind::NotStrided) if the path does not lead to an uncompressed struct, or if the
    /// address or shape of the struct is unknown.
    pub fn instances(&self, path: &str) -> Result<Instances<'_>, Error> {
        let (row, inside) = self.find(path)?;
        let inputs = self.inputs();
        let stored = self.follow(&mut self.inner(&inputs), row, &inside, path)?;
        Instances::new(self, row, stored, path)
    }
}

impl<'f> Instances<'f> {
    pub(super) fn new(file: &'f File, row: Row, stored: Stored, path: &str) -> Result<Self, Error> {
        let fail = |reason| ErrorKind::NotStrided { path: path.to_owned(), reason };
        if stored.struct_type().is_none() || stored.is_compressed() {
            return Err(fail("it is not a struct").into());
        }
        let Some(address) = stored.address() else {
            return Err(fail("its address depends on the stream").into());
        };
        let Some(count) = stored.count() else {
            return Err(fail("its shape depends on the stream").into());
        };
        let addresses = Mutex::new(vec![address]);
        Ok(Self { file, row, stored, path: path.to_owned(), count, addresses })
    }

    /// Returns the number of instances.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns `true` if there are no instances.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the dimensions of the array of instances.
    pub fn shape(&self) -> &[u64] {
        self.stored.shape().unwrap_or_default()
    }

    /// Returns an instance by its index in the flattened array, in C order.
    ///
    /// # Errors
    ///
    /// Fails with [`NotStrided`](ErrorKind::NotStrided) if there is no instance with this index, or if the
    /// size of this or an earlier instance is unknown. Fails with [`Layout`](ErrorKind::Layout) if the file
    /// is too short for a parameter of this or an earlier instance, and with [`Read`](ErrorKind::Read) if the
    /// file cannot be read.
    pub fn get(&self, index: u64) -> Result<Instance<'f>, Error> {
        let path = format!("{}[{index}]", self.path);
        if index >= self.count {
            let reason = "no such instance";
            return Err(ErrorKind::NotStrided { path, reason }.into());
        }
        let inputs = self.file.inputs();
        let mut inner = self.file.inner(&inputs);
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let last = addresses.len() as u64 - 1;
            let at = index.min(last);
            let known = addresses.get(usize::try_from(at).unwrap_or(usize::MAX)).copied();
            let (parts, nbytes) = self.parts(&mut inner, known)?;
            let address = known.unwrap_or_default();
            // All instances after an empty one have the same address, so they are also empty.
            if at == index || nbytes == 0 {
                return Ok(Instance {
                    file: self.file,
                    row: self.row,
                    path,
                    address,
                    nbytes,
                    parts,
                });
            }
            addresses.push(address.saturating_add(nbytes));
        }
    }

    fn parts(&self, inner: &mut Inner<'_>, at: Option<u64>) -> Result<(Vec<Part>, u64), Error> {
        let fail = |trouble| to_error(self.file.layout(), trouble, self.row.subject());
        let instance = self.stored.instance_at(at);
        let (parts, nbytes) = inner.parts(&instance).map_err(|trouble| fail(*trouble))?;
        let nbytes = nbytes.ok_or_else(|| {
            let reason = "the size of an instance depends on an unknown value";
            ErrorKind::NotStrided { path: self.path.clone(), reason }
        })?;
        Ok((parts, nbytes))
    }

    /// Iterates over the instances in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Instance<'f>, Error>> + '_ {
        (0..self.count).map(|index| self.get(index))
    }
}

impl<'f> IntoIterator for &'f Instances<'_> {
    type Item = Result<Instance<'f>, Error>;
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 'f>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl<'f> Instance<'f> {
    /// Returns the address of the instance, in bytes from the start of the file.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the size of the instance in bytes, including the padding at its end.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Iterates over the names of the members, in order of declaration.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let layout = self.file.layout();
        self.parts.iter().filter_map(|part| match part.field {
            Field::Member(id) => Some(layout.member_name(id)),
            Field::Param(_) => None,
        })
    }

    /// Iterates over the names and values of the parameters stored in the instance, in order of declaration.
    pub fn params(&self) -> impl Iterator<Item = (&str, i64)> {
        let layout = self.file.layout();
        self.parts.iter().filter_map(|part| match part.field {
            Field::Param(id) => Some((layout.param_name(id), part.value?)),
            Field::Member(_) => None,
        })
    }

    /// Returns the member with this name. If there is no such member, returns the parameter with this name as a
    /// scalar.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`].
    pub fn get(&self, name: &str) -> Result<Array, Error> {
        let inputs = self.file.inputs();
        let mut inner = self.file.inner(&inputs);
        self.file.to_array(&mut inner, self.part(name)?, self.row, &self.path_of(name))
    }

    /// Returns the instances of a member that is a struct. They may differ in size.
    ///
    /// # Errors
    ///
    /// Same as [`File::instances`].
    pub fn instances(&self, name: &str) -> Result<Instances<'f>, Error> {
        Instances::new(self.file, self.row, self.part(name)?.clone(), &self.path_of(name))
    }

    fn path_of(&self, name: &str) -> String {
        let mut path = format!("{}.", self.path);
        crate::layout::push_name(&mut path, name);
        path
    }

    fn part(&self, name: &str) -> Result<&Stored, Error> {
        let layout = self.file.layout();
        let named = |part: &&Part| match part.field {
            Field::Member(id) => layout.member_name(id) == name,
            Field::Param(id) => layout.param_name(id) == name,
        };
        let is_member = |part: &&Part| matches!(part.field, Field::Member(_));
        let parts = || self.parts.iter().filter(named);
        let found = parts().find(is_member).or_else(|| parts().next());
        found.map(|part| &part.stored).ok_or_else(|| {
            ErrorKind::NotFound {
                path: self.path_of(name),
                parent: self.path.clone(),
                missing: format!("member `{name}`"),
            }
            .into()
        })
    }
}
