//! Paths of items: `/dict/name`, `/list[2]/name`, `/item.member`.
//!
//! A name is quoted in a path if it is empty or contains a control character or one of `/ [ ] . "`: `/""`,
//! `/"c\"d"`. JSON Pointers work too: `/list/2/name`, `/item/member`, `/c"d`.

use std::borrow::Cow;
use std::fmt::Write as _;

use smallvec::SmallVec;

use super::{
    Data, Datatype, Field, ItemId, ItemKind, Layout, MemberId, ParamId, Scope, Subject, TypeId,
};
use crate::error::{Error, ErrorKind};
use crate::text::{is_word, quote};

/// The result of looking up a path.
///
/// ```
/// use dudley::Layout;
/// use dudley::layout::Found;
///
/// let layout = Layout::parse("N : i4  p = { x = f8 }[N]")?;
/// assert!(matches!(layout.find("/p.x")?, Found::Item(_, members) if members.len() == 1));
/// assert!(matches!(layout.find("/N")?, Found::Param(_)));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// An item and, if the path leads into its struct, the members along the path: first a member
    /// of the item's struct, then a member of that member's struct, and so on.
    Item(ItemId, Vec<MemberId>),
    /// A parameter of a dict. An item with the same name takes precedence.
    Param(ParamId),
}

/// A step from an item into its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// A member or a stored parameter of a struct.
    Field(Field),
    /// An instance or element, by its index in the flattened array.
    Instance(u64),
}

/// Appends a name to a path, quoted if needed.
pub(crate) fn push_name(path: &mut String, name: &str) {
    let odd = |character: char| {
        matches!(character, '/' | '[' | ']' | '.' | '"') || character.is_control()
    };
    if !name.is_empty() && (is_word(name) || !name.contains(odd)) {
        path.push_str(name);
    } else {
        quote::push_quoted(path, name);
    }
}

/// The steps of a path. One or two steps, which are enough for most paths, need no allocation.
type Steps<'a> = SmallVec<[Step<'a>; 2]>;

enum Step<'a> {
    Name(Cow<'a, str>),
    Element(usize),
    Member(Cow<'a, str>),
    /// A key of a JSON Pointer: a name, an element or a member, depending on the item to which it
    /// is applied.
    Key(Cow<'a, str>),
}

impl Layout {
    /// Returns the path of an item. The path of the root is `/`.
    pub fn path(&self, id: ItemId) -> String {
        let item = self.item(id);
        if item.parent == ItemId::ROOT && id != ItemId::ROOT {
            let name = self.name(id).unwrap_or_default();
            let mut path = String::with_capacity(name.len() + 1);
            path.push('/');
            push_name(&mut path, name);
            return path;
        }
        let mut chain = Vec::new();
        let mut at = id;
        while at != ItemId::ROOT {
            chain.push(at);
            at = self.item(at).parent;
        }
        let mut path = String::new();
        for &id in chain.iter().rev() {
            if let Some(name) = self.name(id) {
                path.push('/');
                push_name(&mut path, name);
            } else {
                let _ = write!(path, "[{}]", self.position(id));
            }
        }
        if path.is_empty() { "/".to_owned() } else { path }
    }

    /// Returns the path of a subject. The summary has the path `{}`, a type `name{}`, and a member
    /// of a type `name{}.member`. The path of a member of an anonymous struct is the path of the
    /// item or member declared with the struct, followed by `.member`.
    pub fn subject_path(&self, subject: Subject) -> String {
        match subject {
            Subject::Summary => "{}".to_owned(),
            Subject::Item(id) => self.path(id),
            Subject::Param(id) => match self.param(id).scope {
                Scope::Dict(dict) => {
                    let mut path = self.path(dict);
                    if path != "/" {
                        path.push('/');
                    }
                    push_name(&mut path, self.param_name(id));
                    path
                }
                Scope::Struct(owner) => self.field_path(owner, self.param_name(id)),
            },
            Subject::Type(id) => {
                let mut path = String::new();
                push_name(&mut path, self.type_name(id).unwrap_or_default());
                path + "{}"
            }
            Subject::Member(id) => self.field_path(self.member(id).owner, self.member_name(id)),
        }
    }

    fn field_path(&self, owner: super::TypeId, name: &str) -> String {
        let mut path = if self.type_name(owner).is_some() {
            self.subject_path(Subject::Type(owner))
        } else if let Some(user) = self.struct_type(owner).user {
            self.subject_path(user)
        } else {
            "{}".to_owned()
        };
        path.push('.');
        push_name(&mut path, name);
        path
    }

    /// Looks up a path. The leading `/` is optional. If the string is not a valid path, or if nothing exists at
    /// the path, it is interpreted as a JSON Pointer.
    ///
    /// Members of the item named `""` are also found as if they were items of its dict, unless an item or
    /// parameter has the same name. The specification describes these members as being "at root level".
    ///
    /// ```
    /// use dudley::layout::Found;
    /// use dudley::Layout;
    ///
    /// let layout = Layout::parse("l [f8, / x = i4]  \"\" = { t = f8 }[3]")?;
    /// let Found::Item(x, _) = layout.find("/l[1]/x")? else { panic!() };
    /// assert_eq!(layout.path(x), "/l[1]/x");
    /// assert_eq!(layout.find("/t")?, layout.find("/\"\".t")?);
    /// assert_eq!(layout.find("/l/1/x")?, layout.find("/l[1]/x")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Path`](ErrorKind::Path) if the path is not valid, and with
    /// [`NotFound`](ErrorKind::NotFound) if nothing exists at the path.
    pub fn find(&self, path: &str) -> Result<Found, Error> {
        find_or_point(path, |steps| Ok(self.follow(path, steps, false)?.found()))
    }

    /// Like [`find`](Self::find), but also returns the steps from the item into its data. In addition, the path
    /// may contain the index of an instance (`/item[2].member`), and may lead to a parameter stored in a
    /// struct.
    pub(crate) fn trace(&self, path: &str) -> Result<(Found, Vec<Inside>), Error> {
        find_or_point(path, |steps| {
            let mut trail = self.follow(path, steps, true)?;
            let inside = std::mem::take(&mut trail.inside);
            Ok((trail.found(), inside))
        })
    }

    /// Returns the data item or stored parameter at a path, and the remaining steps into its data.
    ///
    /// # Errors
    ///
    /// Same as [`find`](Self::find). Also fails with [`NotData`](ErrorKind::NotData) if the path leads to a
    /// dict, a list or a fixed parameter.
    pub(crate) fn stored_at(&self, path: &str) -> Result<(Subject, Vec<Inside>), Error> {
        let (found, inside) = self.trace(path)?;
        let what = match found {
            Found::Item(id, _) => match self.kind(id) {
                ItemKind::Data(_) => return Ok((id.into(), inside)),
                ItemKind::Dict(_) => "a dict",
                ItemKind::List(_) => "a list",
            },
            Found::Param(id) if self.param(id).value.is_stored() => return Ok((id.into(), inside)),
            Found::Param(_) => "a fixed parameter",
        };
        Err(ErrorKind::NotData { path: path.to_owned(), what }.into())
    }

    /// Returns `true` if a stored parameter has this path: `/dict/N`, or `/item.member.N` in a struct. The path
    /// may contain the index of an instance: `/item[2].N`.
    pub(crate) fn stores_param_at(&self, path: &str) -> bool {
        let Ok(mut steps) = steps(path) else { return false };
        let is_stored = |id: ParamId| self.param(id).value.is_stored();
        let Some(Step::Member(name)) = steps.pop() else {
            return self.param_at(path).is_some_and(is_stored);
        };
        let found = self.follow(path, steps, true).map(Trail::found);
        let Ok(Found::Item(item, members)) = found else { return false };
        let id = self.struct_of(item, &members);
        id.is_some_and(|id| self.stored_param(id, &name).is_some())
    }

    /// Returns the struct type of an item or, if `members` is not empty, of the last member.
    /// Resolves typedefs.
    fn struct_of(&self, item: ItemId, members: &[MemberId]) -> Option<TypeId> {
        let data = match members.last() {
            Some(&member) => self.data(self.member(member).data),
            None => self.data_of(item)?,
        };
        match self.stands_for(data).datatype {
            Datatype::Struct(id) => Some(id),
            Datatype::Primitive(..) => None,
        }
    }

    /// Returns the stored parameter with this name in a struct type.
    fn stored_param(&self, id: TypeId, name: &str) -> Option<ParamId> {
        self.fields(id).iter().find_map(|field| match *field {
            Field::Param(id) if self.param(id).value.is_stored() && self.param_name(id) == name => {
                Some(id)
            }
            _ => None,
        })
    }

    /// Returns the parameter of a dict at this path, even if there is an item at the same path.
    pub(crate) fn param_at(&self, path: &str) -> Option<ParamId> {
        let mut steps = steps(path).ok()?;
        let Some(Step::Name(name)) = steps.pop() else { return None };
        match self.follow(path, steps, false).map(Trail::found) {
            Ok(Found::Item(dict, members)) if members.is_empty() => self.param_named(dict, &name),
            _ => None,
        }
    }

    /// Returns the data that remains after resolving all typedefs.
    fn stands_for<'a>(&'a self, mut data: &'a Data) -> &'a Data {
        while let Datatype::Struct(id) = data.datatype {
            let Some(member) = self.typedef_member(id) else { break };
            data = self.data(self.member(member).data);
        }
        data
    }

    fn follow<'s>(
        &'s self,
        path: &'s str,
        steps: Steps<'_>,
        into_data: bool,
    ) -> Result<Trail<'s>, Error> {
        let mut trail = Trail {
            layout: self,
            path,
            into_data,
            item: ItemId::ROOT,
            members: Vec::new(),
            inside: Vec::new(),
            param: None,
        };
        for step in steps {
            trail.take(step)?;
        }
        Ok(trail)
    }

    /// Returns the member with this name in the struct type of an item or, if `members` is not
    /// empty, of the last member.
    fn member_of(&self, item: ItemId, members: &[MemberId], name: &str) -> Option<MemberId> {
        let mut data = match members.last() {
            Some(&member) => self.data(self.member(member).data),
            None => self.data_of(item)?,
        };
        loop {
            let Datatype::Struct(id) = data.datatype else { return None };
            let member = self.fields(id).iter().find_map(|field| match *field {
                Field::Member(member) if self.member_name(member) == name => Some(member),
                _ => None,
            });
            match (member, self.typedef_member(id)) {
                (None, Some(stands_for)) => data = self.data(self.member(stands_for).data),
                _ => return member,
            }
        }
    }
}

/// The steps of a path that have been followed so far.
struct Trail<'s> {
    layout: &'s Layout,
    /// The whole path, for messages.
    path: &'s str,
    /// Whether the path may contain the index of an instance, or lead to a parameter stored in a struct.
    into_data: bool,
    item: ItemId,
    members: Vec<MemberId>,
    /// The steps from the item into its data.
    inside: Vec<Inside>,
    /// The dict parameter to which the path leads, or `None` if it leads to an item.
    param: Option<ParamId>,
}

impl Trail<'_> {
    fn found(self) -> Found {
        self.param.map_or(Found::Item(self.item, self.members), Found::Param)
    }

    fn missing(&self, part: impl Into<String>) -> Error {
        let (path, parent) = (self.path.to_owned(), self.layout.path(self.item));
        ErrorKind::NotFound { path, parent, missing: part.into() }.into()
    }

    fn take(&mut self, step: Step<'_>) -> Result<(), Error> {
        let is_param = matches!(self.inside.last(), Some(Inside::Field(Field::Param(_))));
        if self.param.is_some() || is_param {
            return Err(self.missing("items below its parameters"));
        }
        match self.resolve_key(step)? {
            Step::Name(name) | Step::Key(name) => self.take_name(&name),
            Step::Element(index) => self.take_element(index),
            Step::Member(name) => self.take_member(&name),
        }
    }

    /// Converts a key of a JSON Pointer to the step that it stands for in the current item. Returns
    /// any other kind of step unchanged.
    fn resolve_key<'k>(&self, step: Step<'k>) -> Result<Step<'k>, Error> {
        let Step::Key(key) = step else { return Ok(step) };
        match (self.layout.kind(self.item), key.parse()) {
            (ItemKind::List(_), Ok(index)) => Ok(Step::Element(index)),
            (ItemKind::List(_), Err(_)) => Err(self.missing(format!("element `{key}`"))),
            (ItemKind::Dict(_), _) => Ok(Step::Name(key)),
            (ItemKind::Data(_), Ok(index)) if self.into_data && self.member(&key).is_none() => {
                Ok(Step::Element(index))
            }
            (ItemKind::Data(_), _) => Ok(Step::Member(key)),
        }
    }

    /// Steps to an item or parameter of a dict, or to a member of the dict's unnamed item.
    fn take_name(&mut self, name: &str) -> Result<(), Error> {
        let (layout, dict) = (self.layout, self.item);
        if !matches!(layout.kind(dict), ItemKind::Dict(_)) {
            return Err(self.missing(format!("`{name}`")));
        }
        if let Some(child) = layout.child(dict, name) {
            self.item = child;
            return Ok(());
        }
        self.param = layout.param_named(dict, name);
        if self.param.is_some() {
            return Ok(());
        }
        let nameless = layout.child(dict, "");
        let member = nameless.and_then(|item| layout.member_of(item, &[], name));
        let (Some(item), Some(member)) = (nameless, member) else {
            return Err(self.missing(format!("`{name}`")));
        };
        self.item = item;
        self.enter(member);
        Ok(())
    }

    /// Steps to an element of a list, or to an instance in an array.
    fn take_element(&mut self, index: usize) -> Result<(), Error> {
        match self.layout.kind(self.item) {
            ItemKind::List(elements) => {
                let element = elements.get(index).copied();
                self.item = element.ok_or_else(|| self.missing(format!("element {index}")))?;
            }
            ItemKind::Data(_) if self.into_data => {
                self.inside.push(Inside::Instance(index as u64));
            }
            ItemKind::Data(_) | ItemKind::Dict(_) => return Err(self.missing("elements")),
        }
        Ok(())
    }

    /// Steps to a member of a struct, or to a parameter stored in it.
    fn take_member(&mut self, name: &str) -> Result<(), Error> {
        if let Some(member) = self.member(name) {
            self.enter(member);
            return Ok(());
        }
        let owner = self.layout.struct_of(self.item, &self.members).filter(|_| self.into_data);
        let param = owner.and_then(|id| self.layout.stored_param(id, name));
        let param = param.ok_or_else(|| self.missing(format!("member `{name}`")))?;
        self.inside.push(Inside::Field(Field::Param(param)));
        Ok(())
    }

    fn member(&self, name: &str) -> Option<MemberId> {
        self.layout.member_of(self.item, &self.members, name)
    }

    fn enter(&mut self, member: MemberId) {
        self.members.push(member);
        self.inside.push(Inside::Field(Field::Member(member)));
    }
}

/// Calls `follow` with the steps of a path. If that fails, interprets the string as a JSON Pointer and tries
/// again.
fn find_or_point<'p, T>(
    path: &'p str,
    follow: impl Fn(Steps<'p>) -> Result<T, Error>,
) -> Result<T, Error> {
    steps(path).and_then(&follow).or_else(|error| {
        let keys = pointer(path).ok_or_else(|| error.clone())?;
        follow(keys).map_err(|_| error)
    })
}

fn steps(path: &str) -> Result<Steps<'_>, Error> {
    let mut steps = Steps::new();
    let mut rest = path;
    let error = |rest: &str, expected| {
        Error::new(ErrorKind::Path {
            path: path.to_owned(),
            offset: path.len() - rest.len(),
            expected,
        })
    };
    if path == "/" || path.is_empty() {
        return Ok(steps);
    }
    if !rest.starts_with(['/', '[', '.']) {
        let name = take_name(&mut rest).ok_or_else(|| error(rest, "a name"))?;
        steps.push(Step::Name(name));
    }
    while let Some(first) = rest.chars().next() {
        let from = rest;
        rest = &rest[first.len_utf8()..];
        match first {
            '/' => {
                let name = take_name(&mut rest).ok_or_else(|| error(rest, "a name"))?;
                steps.push(Step::Name(name));
            }
            '.' => {
                let name = take_name(&mut rest).ok_or_else(|| error(rest, "a member"))?;
                steps.push(Step::Member(name));
            }
            '[' => {
                let number = rest.split_once(']').and_then(|(digits, after)| {
                    rest = after;
                    digits.parse().ok()
                });
                let number = number.ok_or_else(|| error(from, "an index followed by `]`"))?;
                steps.push(Step::Element(number));
            }
            _ => return Err(error(from, "`/`, `[` or `.`")),
        }
    }
    Ok(steps)
}

/// Splits a JSON Pointer into its keys.
fn pointer(path: &str) -> Option<Steps<'_>> {
    let key = |key: &str| Step::Key(key.replace("~1", "/").replace("~0", "~").into());
    Some(path.strip_prefix('/')?.split('/').map(key).collect())
}

fn take_name<'a>(rest: &mut &'a str) -> Option<Cow<'a, str>> {
    if rest.starts_with('"') {
        let len = quote::quoted_len(rest.as_bytes())?;
        let (name, after) = rest.split_at(len);
        *rest = after;
        return quote::unquote(name).ok();
    }
    let end = rest.find(['/', '[', '.', ']']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    *rest = after;
    (!name.is_empty()).then_some(Cow::Borrowed(name))
}
