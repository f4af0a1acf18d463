//! `scibin dudley resolve`: prints addresses.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use binio::ReadAt;
use dudley::diagnostic::Code;
use dudley::place::ComplexAlign;
use dudley::{Order, ParseOptions, Resolver, Rules};
use serde_json::{Value, json};

use super::check::verdict_on;
use super::{codes, data, judging, parse, show_all, values};
use crate::Verdict;
use crate::arguments::dudley::{self as arguments, Resolve};
use crate::failure::Failure;
use crate::output::{Output, count, one_line, write_json};

/// The maximum total length in bytes of the paths listed with `--members`. Without this limit, a
/// short layout could produce gigabytes of output, because a long name is repeated in the path of
/// every descendant.
const MAX_LEN: usize = 1 << 27;

pub(super) fn resolve(command: &Resolve, output: Output) -> Result<Verdict, Failure> {
    let mut options = judging(&command.judging)?;
    if !codes("--allow", &command.judging.allow)?.contains(&Code::PastEnd) {
        // Treat a file that is too short for its layout as bad, because some of its data is
        // missing.
        options = options.deny(Code::PastEnd);
    }
    let layout = parse(&command.layout, &options)?;
    let stream = command.stream.as_deref().map(data::source).transpose()?;
    let mut rules = Rules::new().values(values(&command.params, &[&layout])?).complex_align(
        match command.complex_align {
            arguments::ComplexAlign::Size => ComplexAlign::Size,
            arguments::ComplexAlign::Part => ComplexAlign::Part,
        },
    );
    if let Some(order) = command.order {
        rules = rules.order(match order {
            arguments::Order::Little => Order::Little,
            arguments::Order::Big => Order::Big,
        });
    }
    let resolver = Resolver::new(&layout).rules(rules).native(command.native);
    let stream = stream.as_ref().map(|stream| stream as &dyn ReadAt);
    resolve_to(resolver, stream, command, &options, output)
}

fn resolve_to<'a>(
    resolver: Resolver<'a>,
    stream: Option<&'a dyn ReadAt>,
    command: &Resolve,
    options: &ParseOptions,
    output: Output,
) -> Result<Verdict, Failure> {
    let fail = |error| Failure::dudley(&command.layout, error);
    let resolver = match stream {
        Some(stream) => resolver.stream(stream).map_err(fail)?,
        None => resolver,
    };
    let table = resolver.table().map_err(fail)?;
    let found = options.judge(resolver.diagnose(&table));
    let mut verdict = verdict_on(&found);
    if verdict != Verdict::Fine || !output.quiet {
        show_all(&found, resolver.layout().source());
    }
    let mut rows = Rows::begin(output.json)?;
    if command.members {
        let mut left = command.max_members;
        let mut failed = None;
        let mut is_cut = false;
        let walked = resolver.walk(&table, table.rows(), |row, member| {
            is_cut = member.is_some() && (left == 0 || rows.len > MAX_LEN);
            if is_cut {
                return ControlFlow::Break(());
            }
            left -= u64::from(member.is_some());
            let row = member.map_or_else(|| json!(table.entry(row)), |member| json!(member));
            failed = rows.put(&row).err();
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        walked.map_err(fail)?;
        failed.map_or(Ok(()), Err)?;
        if is_cut {
            let listed = count(command.max_members - left, "member");
            let reason = if rows.len > MAX_LEN {
                "longer output is not supported"
            } else {
                "`--max-members` raises the limit"
            };
            output.say(&format_args!("only the first {listed} are listed; {reason}"));
            verdict = Verdict::Found;
        }
    } else {
        for row in table.iter() {
            rows.put(&json!(row))?;
        }
    }
    rows.end()?;
    Ok(verdict)
}

/// A writer that prints rows as a JSON array or as a table.
struct Rows {
    out: BufWriter<io::StdoutLock<'static>>,
    json: bool,
    is_first: bool,
    /// Total length in bytes of the paths printed so far.
    len: usize,
}

impl Rows {
    fn begin(json: bool) -> io::Result<Self> {
        let mut out = BufWriter::new(io::stdout().lock());
        if !json {
            writeln!(out, "{:>12} {:>12}  {:<20} path", "address", "nbytes", "type")?;
        }
        Ok(Self { out, json, is_first: true, len: 0 })
    }

    fn put(&mut self, row: &Value) -> io::Result<()> {
        let path = row["path"].as_str().unwrap_or_default();
        self.len += path.len();
        if self.json {
            self.out.write_all(if self.is_first { b"[" } else { b",\n" })?;
            self.is_first = false;
            write_json(&mut self.out, row)?;
            return Ok(());
        }
        let number = |name: &str| row[name].as_u64().map_or("?".to_owned(), |n| n.to_string());
        let shape: Vec<String> =
            row["shape"].as_array().into_iter().flatten().map(Value::to_string).collect();
        let mut kind = row["dtype"].as_str().unwrap_or_default().to_owned();
        if !shape.is_empty() {
            kind = format!("{kind}[{}]", shape.join(","));
        }
        for (name, before) in [("filter", " "), ("stride", " stride ")] {
            match &row[name] {
                Value::Null => {}
                Value::String(text) => kind = format!("{kind}{before}{text}"),
                other => kind = format!("{kind}{before}{other}"),
            }
        }
        writeln!(
            self.out,
            "{:>12} {:>12}  {:<20} {}",
            number("address"),
            number("nbytes"),
            one_line(&kind),
            one_line(path)
        )
    }

    fn end(mut self) -> io::Result<()> {
        if self.json {
            self.out.write_all(if self.is_first { b"[]\n" } else { b"]\n" })?;
        }
        self.out.flush()
    }
}
