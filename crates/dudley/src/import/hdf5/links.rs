//! Listing the links of an HDF5 group.
//!
//! The crate `hdf5-reader` lists the members of a group only if it can parse the headers of all
//! members, but it cannot parse the headers of virtual data sets. This module parses the links
//! itself, so that the other members are found even if the group contains a virtual data set.
//!
//! | group format | location of the links |
//! |---|---|
//! | old | symbol table nodes, found through a version-1 B-tree; the names are in a local heap |
//! | new, few links | link messages in the group header |
//! | new, many links | a fractal heap, indexed by a version-2 B-tree |

use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::error::Error;
use hdf5_reader::fractal_heap::FractalHeap;
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::link_info::LinkInfoMessage;
use hdf5_reader::messages::symbol_table_msg::SymbolTableMessage;
use hdf5_reader::messages::{HdfMessage, link};
use hdf5_reader::symbol_table::SymbolTableNode;
use hdf5_reader::{Hdf5File, group::Group};

/// Number of bytes before the entries in a symbol table node.
const NODE_LEN: usize = 8;

/// Returns the names of the links in a group, in the order in which they are stored.
pub(super) fn names(hdf5: &Hdf5File, group: &Group) -> Result<Vec<String>, Error> {
    let header = hdf5.get_or_parse_header(group.address())?;
    let mut names = Vec::new();
    for message in &header.messages {
        match message {
            HdfMessage::SymbolTable(table) => names.extend(of_symbol_table(hdf5, table)?),
            HdfMessage::Link(link) => names.push(link.name.clone()),
            HdfMessage::LinkInfo(info) => {
                let size = hdf5.superblock().offset_size;
                if !Cursor::is_undefined_offset(info.fractal_heap_address, size) {
                    names.extend(of_heap(hdf5, info)?);
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn of_symbol_table(hdf5: &Hdf5File, table: &SymbolTableMessage) -> Result<Vec<String>, Error> {
    let (storage, superblock) = (hdf5.storage(), hdf5.superblock());
    let (offsets, lengths) = (superblock.offset_size, superblock.length_size);
    let heap = LocalHeap::parse_at_storage(storage, table.heap_address, offsets, lengths)?;
    let leaves = collect_btree_v1_leaves_storage(
        storage,
        table.btree_address,
        offsets,
        lengths,
        None,
        &[],
        None,
    )?;
    let entry_len = 2 * usize::from(offsets) + 24;
    let mut names = Vec::new();
    for (_, address) in leaves {
        let start = storage.read_range(address, NODE_LEN)?;
        let count = start.as_ref().get(6..8).and_then(|count| count.try_into().ok());
        let count = usize::from(count.map_or(0, u16::from_le_bytes));
        let node = storage.read_range(address, NODE_LEN + count * entry_len)?;
        let node = SymbolTableNode::parse(&mut Cursor::new(node.as_ref()), offsets, lengths)?;
        for entry in &node.entries {
            names.push(heap.get_string_storage(entry.link_name_offset, storage)?);
        }
    }
    Ok(names)
}

fn of_heap(hdf5: &Hdf5File, info: &LinkInfoMessage) -> Result<Vec<String>, Error> {
    let (storage, superblock) = (hdf5.storage(), hdf5.superblock());
    let (offsets, lengths) = (superblock.offset_size, superblock.length_size);
    let heap = FractalHeap::parse_at_storage(storage, info.fractal_heap_address, offsets, lengths)?;
    let tree = info.btree_name_index_address;
    let tree = BTreeV2Header::parse_at_storage(storage, tree, offsets, lengths)?;
    let records =
        collect_btree_v2_records_storage(storage, &tree, offsets, lengths, None, &[], None)?;
    let mut names = Vec::new();
    for record in &records {
        let (BTreeV2Record::LinkNameHash { heap_id, .. }
        | BTreeV2Record::CreationOrder { heap_id, .. }) = record
        else {
            continue;
        };
        let bytes = heap.get_object_storage(heap_id, storage, offsets, lengths)?;
        let mut cursor = Cursor::new(&bytes);
        names.push(link::parse(&mut cursor, offsets, lengths, bytes.len())?.name);
    }
    Ok(names)
}
