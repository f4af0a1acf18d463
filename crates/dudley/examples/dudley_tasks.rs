//! Repeats a task of the side-by-side benchmark. Prints the duration of each run in seconds, and
//! the numbers of bytes and items, as JSON. `cargo xtask bench dudley` calls this program:
//!
//! ```text
//! dudley_tasks syntax LAYOUT TIMES              parse a layout into the syntax tree with comments
//! dudley_tasks parse LAYOUT TIMES               parse and check a layout
//! dudley_tasks resolve LAYOUT TIMES             compute all addresses, with 3 for all parameters
//! dudley_tasks locate_all LAYOUT TIMES          parse a layout, and list all paths and addresses
//! dudley_tasks locate_one LAYOUT TIMES PATH     parse a layout, and locate one item
//! dudley_tasks locate_again LAYOUT TIMES PATH   locate one item once, then time 1,000 repetitions
//! dudley_tasks template LAYOUT TIMES PATH       locate one item of a template 1,000 times
//! dudley_tasks index_one INDEX TIMES PATH       open a compiled layout, and locate one item
//! dudley_tasks index_all INDEX TIMES            open a compiled layout, and locate all items
//! dudley_tasks index LAYOUT TIMES INDEX         compile a layout, and write the compiled layout
//! dudley_tasks files LAYOUT TIMES FILE..        read one array from each file of a family in turn
//! dudley_tasks family LAYOUT TIMES FILE..       read the array of all files as a single array
//! dudley_tasks summary LAYOUT TIMES SUMMARY FILE..  like `family`, but with a summary
//! dudley_tasks alone LAYOUT TIMES FILE..        read the bytes of the array with system calls only
//! dudley_tasks copy LAYOUT TIMES FILE           read a large array into preallocated memory
//! dudley_tasks read LAYOUT TIMES FILE           read a large array into newly allocated memory
//! dudley_tasks write LAYOUT TIMES FILE          write a large array to a new file, and sync it
//! ```

use std::fs;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use dudley::file::{Family, Summaries, Template};
use dudley::index::CompiledLayout;
use dudley::layout::Found;
use dudley::text::Tree;
use dudley::{
    File, Layout, Limits, OpenOptions, ParseOptions, Resolver, Rules, Source, Values, WriteOptions,
};

/// The path of the array to read from each file of a family.
const OF_FAMILY: &str = "/te";

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, path, times, one @ ..] = &arguments[..] else {
        return Err("usage: dudley_tasks TASK LAYOUT TIMES [PATH..]".into());
    };
    let times = times.parse()?;
    if task == "index_all" {
        let found = timed(times, || {
            CompiledLayout::open(path)?.for_each(None, |row| {
                black_box(row);
            })?;
            Ok(())
        })?;
        println!("{{\"wall\": {found:?}}}");
        return Ok(());
    }
    if task == "index_one" {
        let wanted = one.first().ok_or("a path is missing")?;
        let found = timed(times, || {
            let compiled = CompiledLayout::open(path)?;
            black_box(compiled.locate(wanted, None)?);
            Ok(())
        })?;
        println!("{{\"wall\": {found:?}}}");
        return Ok(());
    }
    let text = fs::read(path)?;
    let mut layout = Layout::parse(&text)?;
    let items = layout.items().filter(|&id| layout.data_of(id).is_some()).count();
    if matches!(task.as_str(), "syntax" | "parse") {
        // Drop the previous layout before the clock starts, so that it does not take up memory
        // during the run.
        layout = Layout::default();
    }
    let wall = match task.as_str() {
        "syntax" => timed(times, || {
            let source = Source::decode(&text)?;
            black_box(Tree::parse(source.text(), &Limits::default()));
            Ok(())
        }),
        "parse" => timed(times, || {
            black_box(Layout::parse(&text)?);
            Ok(())
        }),
        "resolve" => {
            let values = layout.params().map(|id| (layout.param_name(id).to_owned(), 3));
            let resolver =
                Resolver::new(&layout).rules(Rules::new().values(values.collect::<Values>()));
            timed(times, || {
                black_box(resolver.table()?);
                Ok(())
            })
        }
        "locate_all" => timed(times, || {
            let layout = ParseOptions::new().parse_source(Source::decode(fs::read(path)?)?)?;
            let resolver = Resolver::new(&layout);
            let table = resolver.table()?;
            for row in table.iter() {
                black_box((row.path(), row.address(), row.shape()));
            }
            Ok(())
        }),
        "locate_one" => timed(times, || {
            let layout = ParseOptions::new().parse_source(Source::decode(fs::read(path)?)?)?;
            let Found::Item(item, _) = layout.find(one.first().ok_or("a path is missing")?)? else {
                return Err("this path does not lead to an item".into());
            };
            black_box(Resolver::new(&layout).locate(item)?);
            Ok(())
        }),
        "locate_again" => {
            let Found::Item(item, _) = layout.find(one.first().ok_or("a path is missing")?)? else {
                return Err("this path does not lead to an item".into());
            };
            let stream = Vec::new();
            let resolver = Resolver::new(&layout).stream(&stream)?;
            resolver.locate(item)?;
            timed(times, || {
                for _ in 0..1000 {
                    black_box(resolver.locate(black_box(item))?);
                }
                Ok(())
            })
        }
        "template" => {
            let wanted = one.first().ok_or("a path is missing")?;
            let template = Template::new(layout)?;
            let values: Values = template.params().map(|name| (name.to_owned(), 3)).collect();
            timed(times, || {
                for _ in 0..1000 {
                    black_box(template.locate(black_box(&values), black_box(wanted))?);
                }
                Ok(())
            })
        }
        "index" => timed(times, || {
            let file = fs::metadata(path)?;
            let bytes = CompiledLayout::compile(&layout, &text, Some(&file))?;
            Ok(fs::write(one.first().ok_or("a file is missing")?, bytes)?)
        }),
        "files" => {
            let layout = Arc::new(layout);
            timed(times, || {
                for file in one {
                    let file = File::open(file, Arc::clone(&layout))?;
                    black_box(file.get(OF_FAMILY)?.read::<f64>()?);
                }
                Ok(())
            })
        }
        "family" => {
            let layout = Arc::new(layout);
            timed(times, || {
                let family = Family::new(Arc::clone(&layout), one);
                black_box(family.get(OF_FAMILY)?.read::<f64>()?);
                Ok(())
            })
        }
        "summary" => {
            let (summary, files) = one.split_first().ok_or("a summary is missing")?;
            let template = Template::new(layout)?;
            timed(times, || {
                let family = template.family(files, &Summaries::open(&template, summary)?)?;
                black_box(family.get(OF_FAMILY)?.read::<f64>()?);
                Ok(())
            })
        }
        "alone" => {
            let first = File::open(one.first().ok_or("a file is missing")?, Arc::new(layout))?;
            let place = first.locate(OF_FAMILY)?;
            let threads = threads();
            timed(times, || read_alone(one, place.address(), place.nbytes(), threads))
        }
        "copy" => {
            let file = one.first().ok_or("a file is missing")?;
            let options = OpenOptions::new();
            #[cfg(feature = "mmap")]
            let options = options.mmap(true);
            let file = options.layout(layout).open(file)?;
            let array = file.get("/x")?;
            let mut out = vec![1.0_f64; usize::try_from(array.len())?];
            array.read_into(&mut out)?;
            timed(times, || Ok(array.read_into(&mut out)?))
        }
        "read" => {
            let path = one.first().ok_or("a file is missing")?;
            let file = File::open(path, layout)?;
            timed(times, || {
                black_box(file.get("/x")?.read::<f64>()?);
                Ok(())
            })
        }
        "write" => {
            let path = one.first().ok_or("a file is missing")?;
            let layout = Arc::new(layout);
            let table = Resolver::new(Arc::clone(&layout)).table()?;
            let len = table.iter().next().map_or(0, |row| row.shape().iter().product::<u64>());
            let elements = vec![1.0_f64; usize::try_from(len)?];
            timed(times, || {
                // Removing the old file frees its memory in the page cache, as truncating it would.
                let _ = std::fs::remove_file(path);
                let mut writer = WriteOptions::new().create(path, Arc::clone(&layout))?;
                writer.put("/x", &elements)?;
                writer.finish()?;
                Ok(())
            })
        }
        _ => Err("unknown task".into()),
    }?;
    println!("{{\"wall\": {wall:?}, \"bytes\": {}, \"items\": {items}}}", text.len());
    Ok(())
}

/// Returns the number of threads that rayon uses.
fn threads() -> usize {
    let stated = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    stated.or_else(|| Some(thread::available_parallelism().ok()?.get())).unwrap_or(1)
}

/// Reads part of each file with system calls only.
fn read_alone(files: &[String], address: u64, nbytes: u64, threads: usize) -> Outcome {
    let nbytes = usize::try_from(nbytes)?;
    let read = |files: &[String]| -> io::Result<()> {
        let mut bytes = vec![0; nbytes * files.len()];
        for (file, bytes) in files.iter().zip(bytes.chunks_exact_mut(nbytes)) {
            let mut file = fs::File::open(file)?;
            file.seek(SeekFrom::Start(address))?;
            file.read_exact(bytes)?;
        }
        black_box(bytes);
        Ok(())
    };
    thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
        for part in running {
            part.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// Runs a task several times, and returns the duration of each run in seconds.
fn timed(times: usize, mut body: impl FnMut() -> Outcome) -> Outcome<Vec<f64>> {
    let mut wall = Vec::with_capacity(times);
    for _ in 0..times {
        let begin = Instant::now();
        body()?;
        wall.push(begin.elapsed().as_secs_f64());
    }
    Ok(wall)
}
