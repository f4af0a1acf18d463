//! Checking whether a layout is a template, that is, whether the summary determines every address.

use super::{Body, Data, Datatype, Declaration, FilterKind, Layout, Placement, Subject};

/// The reason why an item or parameter prevents its layout from being a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The item or parameter has an explicit address.
    ExplicitAddress,
    /// The item is compressed.
    Compressed,
    /// The item is a struct whose size depends on its contents.
    Indeterminate,
    /// The parameter is stored outside the summary.
    OutsideSummary,
}

impl Obstacle {
    /// Describes the obstacle in a clause whose subject is the item.
    #[cfg(feature = "read")]
    pub(crate) fn of_item(self) -> &'static str {
        match self {
            Self::ExplicitAddress => "it has an explicit address",
            Self::Compressed => "it is compressed",
            Self::Indeterminate => "its size depends on the values stored in it",
            Self::OutsideSummary => "it is stored outside the summary",
        }
    }

    /// Describes the obstacle in a clause about the layout as a whole.
    pub(crate) fn of_layout(self) -> &'static str {
        match self {
            Self::ExplicitAddress => "an address is explicit",
            Self::Compressed => "data is compressed",
            Self::Indeterminate => "the size of a struct depends on the values stored in it",
            Self::OutsideSummary => "a stored parameter is declared outside the summary",
        }
    }
}

impl Layout {
    /// Returns the items and parameters that prevent this layout from being a template, in order of
    /// declaration. If there is no summary, this includes every stored parameter.
    pub(crate) fn template_obstacles(&self) -> impl Iterator<Item = (Subject, Obstacle)> + '_ {
        let in_summary = self.summary.map_or(0, |summary| summary.declarations);
        self.declarations.iter().enumerate().filter_map(move |(at, &declaration)| {
            let obstacle = match declaration {
                Declaration::Item(id) => match self.items[id.index()].body {
                    // Data whose declaration is invalid has no entry in the arena.
                    Body::Data(data) => self.obstacle(self.data.get(data.index())?)?,
                    Body::Dict(_) | Body::List(_) => return None,
                },
                Declaration::Param(id) => {
                    let value = self.params[id.index()].value;
                    match value.placement() {
                        Some(Placement::Address(_)) => Obstacle::ExplicitAddress,
                        _ if value.is_stored() && at >= in_summary => Obstacle::OutsideSummary,
                        _ => return None,
                    }
                }
                Declaration::Type(..) => return None,
            };
            Some((declaration.subject()?, obstacle))
        })
    }

    fn obstacle(&self, data: &Data) -> Option<Obstacle> {
        let filter = data.filter.map(|id| self.filters[id.index()].kind);
        let is_indeterminate = match data.datatype {
            Datatype::Struct(id) => self.types[id.index()].is_indeterminate,
            Datatype::Primitive(..) => false,
        };
        match data.placement {
            Some(Placement::Address(_)) => Some(Obstacle::ExplicitAddress),
            _ if filter == Some(FilterKind::Compress) => Some(Obstacle::Compressed),
            _ if is_indeterminate => Some(Obstacle::Indeterminate),
            _ => None,
        }
    }
}
