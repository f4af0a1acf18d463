//! `scibin asdf tree`: prints the tree or a part of it, as an outline, as YAML or as JSON.

use std::io::{self, BufWriter, Write};

use asdf::Node;
use asdf::inspect::schema::Descriptions;
use asdf::tree::json::{self, Options};

use super::outline::{Extent, outline};
use crate::Verdict;
use crate::arguments::asdf::{Aliases, TreeRequest};
use crate::failure::{Failure, name};
use crate::output::{Output, Sink};

pub(crate) fn tree(request: &TreeRequest, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    let file = super::open(path, &request.reading)?;
    let pointer = request.pointer.as_deref().unwrap_or_default();
    let node = file.tree().and_then(|root| root.pointer(pointer));
    let node = node.map_err(|error| super::at_pointer(path, pointer, error))?;
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
    if output.json || request.yaml {
        let written = if output.json {
            write_json(&mut out, node, request)
        } else {
            node.write_yaml(&mut out)
        };
        return out
            .finish(written, |error| super::at_pointer(path, pointer, error), Failure::from)
            .map(|()| Verdict::Fine);
    }
    let extent = Extent { depth: request.depth, ..Extent::default() };
    match outline(&mut out, node, "", extent, &Descriptions::default()) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(Failure::other(name(path), error.to_string()));
        }
        written => written?,
    }
    out.flush()?;
    super::remark(path, &file, output);
    Ok(Verdict::Fine)
}

fn write_json(out: &mut dyn Write, node: Node<'_>, request: &TreeRequest) -> asdf::Result<()> {
    let aliases = match request.aliases {
        Aliases::Expand => json::Aliases::Expand,
        Aliases::Ref => json::Aliases::Reference,
    };
    let options = Options::new().tags(request.tags).aliases(aliases);
    node.write_json(out, &options)?;
    Ok(out.write_all(b"\n")?)
}
