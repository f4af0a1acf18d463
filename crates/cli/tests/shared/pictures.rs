//! Tests of drawing arrays: PNG files, and pictures in the terminal.

use std::io::Cursor;

use crate::program::{Folder, npy_header, status, stderr, stdout};

/// Writes an array to `x.npy`, and to the ASDF file `x.asdf` as `/x`.
fn put(folder: &Folder, datatype: &str, shape: &[u64], bytes: &[u8]) {
    let mut npy = npy_header(datatype, shape);
    npy.extend(bytes);
    folder.write("x.npy", npy);
    folder.done(&["asdf", "new", "x.asdf", "--array", "/x=x.npy", "--force", "-q"]);
}

/// Returns a folder with `x.asdf`, whose array `/x` has the values 0 to 255 in 16 rows.
fn ramp() -> Folder {
    let folder = Folder::new();
    put(&folder, "|u1", &[16, 16], &(0..=255).collect::<Vec<u8>>());
    folder
}

/// Decodes a PNG file. Returns its size, and its pixels as four bytes each.
fn decoded(png: &[u8]) -> ((u32, u32), Vec<[u8; 4]>) {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
    assert_eq!(reader.output_color_type(), (png::ColorType::Rgba, png::BitDepth::Eight));
    let size = (reader.info().width, reader.info().height);
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    (size, pixels.chunks_exact(4).map(|pixel| pixel.try_into().unwrap()).collect())
}

#[test]
fn values_from_0_to_255_are_drawn_as_greys() {
    let folder = ramp();
    let png = ["get", "x.asdf", "/x", "--range", "0,255", "--png"];
    folder.done(&[&png[..], &["a.png"]].concat());
    let (size, pixels) = decoded(&folder.read("a.png"));
    assert_eq!(size, (16, 16));
    let greys: Vec<[u8; 4]> = (0..=255).map(|grey| [grey, grey, grey, 255]).collect();
    assert_eq!(pixels, greys);

    let flipped = folder.done(&[&png[..], &["-", "--flip"]].concat()).stdout;
    let rows: Vec<[u8; 4]> = greys.chunks(16).rev().flatten().copied().collect();
    assert_eq!(decoded(&flipped).1, rows);
}

#[test]
fn each_pixel_of_a_reduced_picture_is_the_mean_of_a_block() {
    let folder = ramp();
    let png = ["get", "x.asdf", "/x", "--range", "0,255", "--size", "4", "--png", "-"];
    let (size, pixels) = decoded(&folder.done(&png).stdout);
    assert_eq!(size, (4, 4));
    // The mean of the elements in rows 0 to 3 and columns 0 to 3 is 25.5.
    assert_eq!([pixels[0][0], pixels[1][0], pixels[15][0]], [26, 30, 230]);
}

#[test]
fn the_range_and_scale_and_colors_options_change_the_picture() {
    let folder = ramp();
    let pixel = |options: &[&str]| {
        let all = [&["get", "x.asdf", "/x", "--png", "-"], options].concat();
        decoded(&folder.done(&all).stdout).1[64]
    };
    let range = ["--range", "0,256"];
    assert_eq!(pixel(&range)[0], 64);
    assert_eq!(pixel(&[&range[..], &["--scale", "sqrt"]].concat())[0], 128);
    // The expected values are astropy's LogStretch and AsinhStretch at 0.25.
    assert_eq!(pixel(&[&range[..], &["--scale", "log"]].concat())[0], 204);
    assert_eq!(pixel(&[&range[..], &["--scale", "asinh"]].concat())[0], 140);
    // The expected colours are matplotlib's viridis and inferno at 0.25.
    assert_eq!(pixel(&[&range[..], &["--colors", "viridis"]].concat()), [59, 82, 139, 255]);
    assert_eq!(pixel(&[&range[..], &["--colors", "inferno"]].concat()), [87, 16, 109, 255]);
    assert_eq!(pixel(&["--range", "50%,100%"])[0], 0);
    assert_eq!(status(&folder.run(&["get", "x.asdf", "/x", "--png", "-", "--range", "3,1"])), 2);
}

#[test]
fn nan_and_masked_elements_are_transparent() {
    let folder = Folder::new();
    let values = [0_f32, f32::NAN, 2.0, 3.0].map(f32::to_le_bytes).concat();
    put(&folder, "<f4", &[2, 2], &values);
    let png = folder.done(&["get", "x.asdf", "/x", "--png", "-", "--range", "0,3"]);
    assert_eq!(
        decoded(&png.stdout).1,
        [[0, 0, 0, 255], [0; 4], [170, 170, 170, 255], [255, 255, 255, 255]]
    );
    let masked = testdata::path("asdf/masked.asdf");
    let masked = masked.to_str().unwrap();
    let pixels = decoded(&folder.done(&["get", masked, "/image", "--png", "-"]).stdout).1;
    let text = stdout(&folder.done(&["get", masked, "/image", "--as", "text"]));
    let is_missing: Vec<bool> = text.split_whitespace().map(|value| value == "--").collect();
    assert!(is_missing.contains(&true), "{text}");
    assert_eq!(pixels.iter().map(|pixel| pixel[3] == 0).collect::<Vec<_>>(), is_missing);
}

#[test]
fn the_same_array_is_drawn_identically_from_every_format_that_has_arrays() {
    let folder = ramp();
    folder.done(&["bloscpack", "pack", "-q", "x.npy", "-o", "x.blp"]);
    folder.write("x.dud", "x = u1[16, 16]\n");
    folder.done(&["dudley", "new", "x.native", "--layout", "x.dud", "--set", "/x=x.npy", "-q"]);
    let options = ["--range", "0,255", "--png", "-"];
    let expected = folder.done(&[&["get", "x.asdf", "/x"][..], &options].concat()).stdout;
    for file in [&["get", "x.blp"][..], &["get", "x.native", "/x"]] {
        assert_eq!(folder.done(&[file, &options].concat()).stdout, expected, "{file:?}");
    }
    folder.write("x.json", "[]");
    let rejected = folder.run(&["get", "x.json", "/0", "--png", "-"]);
    assert!(stderr(&rejected).contains("archives do not contain arrays"), "{}", stderr(&rejected));
}

#[test]
fn an_option_selects_the_instance_of_a_dudley_struct_to_draw() {
    let folder = ramp();
    folder.write("x.dud", "p = { name = S1  \"a.b\" = u1[2, 2] }[3]\n");
    let pixels: Vec<u8> = (0..12).map(|pixel| 20 * pixel).collect();
    folder.write("a.npy", [npy_header("|u1", &[3, 2, 2]), pixels].concat());
    let new = ["dudley", "new", "x.native", "--layout", "x.dud", "-q", "--set", "/p.\"a.b\"=a.npy"];
    folder.done(&new);
    let drawn = |arguments: &[&str]| {
        folder.done(&[arguments, &["--range", "0,255", "--png", "-"]].concat()).stdout
    };
    let by_path = drawn(&["get", "x.native", "/p[1].\"a.b\""]);
    assert_eq!(decoded(&by_path).1, [80, 100, 120, 140].map(|grey| [grey, grey, grey, 255]));
    for command in [&["get"][..], &["dudley", "get"]] {
        let by_option = [command, &["x.native", "/p.\"a.b\"", "--instance", "1"]].concat();
        assert_eq!(drawn(&by_option), by_path, "{command:?}");
    }
    let rejected = folder.run(&["get", "x.asdf", "/x", "--instance", "1"]);
    assert_eq!(status(&rejected), 2);
    assert!(stderr(&rejected).contains("no other format has instances"), "{rejected:?}");
}

#[test]
fn arrays_that_cannot_be_drawn_are_rejected_with_the_reason() {
    let folder = Folder::new();
    let rejected = |datatype: &str, shape: &[u64], bytes: &[u8], option: &[&str]| {
        put(&folder, datatype, shape, bytes);
        let output = folder.run(&[&["get", "x.asdf", "/x"], option].concat());
        assert_eq!((status(&output), output.stdout.len()), (2, 0), "{datatype} {shape:?}");
        stderr(&output)
    };
    let png: &[&str] = &["--png", "-"];
    for (datatype, shape, bytes, option, sentence) in [
        ("<c8", &[1, 1][..], &[0; 8][..], png, "complex numbers cannot be drawn"),
        ("|S2", &[1, 1], b"ab", png, "only numbers of up to 64 bits, booleans, dates"),
        ("|u1", &[0, 4], b"", png, "the array has no elements to draw"),
        ("|u1", &[], b"a", &["--preview"], "a single element cannot be drawn"),
        ("|u1", &[2], b"ab", png, "use --preview to draw it"),
        ("|u1", &[1, 1, 2, 1], b"ab", png, "--slice selects a plane, such as --slice 0,0"),
    ] {
        let message = rejected(datatype, shape, bytes, option);
        assert!(message.contains(sentence), "{message}");
        assert!(message.starts_with("scibin: x.asdf /x: "), "{message}");
    }
    let records = testdata::path("asdf/records.asdf");
    let output = folder.run(&["get", records.to_str().unwrap(), "/table", "--png", "-"]);
    assert!(stderr(&output).contains("select a field"), "{}", stderr(&output));
    // Booleans are drawn as black and white.
    put(&folder, "|b1", &[1, 2], &[0, 1]);
    let png = folder.done(&["get", "x.asdf", "/x", "--png", "-"]).stdout;
    assert_eq!(decoded(&png).1, [[0, 0, 0, 255], [255, 255, 255, 255]]);
}

#[test]
fn a_preview_shows_an_image_with_or_without_colours() {
    let folder = Folder::new();
    put(&folder, "|u1", &[4, 4], &[0, 1, 2, 3, 0, 1, 2, 3, 3, 2, 1, 0, 3, 2, 1, 0]);
    let preview = ["get", "x.asdf", "/x", "--preview", "--range", "0,3"];
    assert_eq!(stdout(&folder.done(&preview)), "░▒▓█\n█▓▒░\ndark 0, light 3\n");
    let colored = |variable: &str| {
        let mut command = folder.command(&[&preview[..], &["--color", "always"]].concat());
        stdout(&command.env("COLORTERM", variable).output().unwrap())
    };
    let first = |text: String| text.split('▀').next().unwrap().to_owned();
    assert_eq!(first(colored("truecolor")), "\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m");
    assert_eq!(first(colored("")), "\x1b[38;5;16m\x1b[48;5;16m");
    assert_eq!(colored("").matches('▀').count(), 8);
}

#[test]
fn a_preview_of_a_large_array_omits_rows_and_columns() {
    let folder = Folder::new();
    put(&folder, "|u1", &[100, 100], &vec![7; 10_000]);
    let shown = stdout(&folder.done(&["get", "x.asdf", "/x", "--preview"]));
    // Two of the 24 lines are reserved. The other 22 lines can show two rows of pixels each, which
    // is not enough for 1 in 2 rows. 1 in 3 rows fill 17 lines, and one line follows the picture.
    assert_eq!(shown.lines().count(), 18, "{shown}");
    let last = "1 in 3 elements along each axis; dark 7, light 7";
    assert_eq!(shown.lines().last(), Some(last));
}

#[test]
fn the_preview_of_a_one_dimensional_array_is_a_curve_with_statistics() {
    let folder = Folder::new();
    let values = (0..16).map(f64::from).chain([f64::NAN]).flat_map(f64::to_le_bytes);
    put(&folder, "<f8", &[17], &values.collect::<Vec<u8>>());
    let shown = stdout(&folder.done(&["get", "x.asdf", "/x", "--preview"]));
    assert_eq!(
        shown,
        "⠀⠀⠀⠀⠀⠀⡠⠊⠀\n⠀⠀⠀⠀⡠⠊⠀⠀⠀\n⠀⠀⡠⠊⠀⠀⠀⠀⠀\n⡠⠊⠀⠀⠀⠀⠀⠀⠀\nminimum 0, median 7.5, maximum 15, NaN 1\n"
    );
}

#[test]
fn an_existing_picture_is_replaced_only_with_force() {
    let folder = ramp();
    folder.write("a.png", "kept");
    let png = ["get", "x.asdf", "/x", "--png", "a.png"];
    assert_eq!(status(&folder.run(&png)), 2);
    assert_eq!(folder.read("a.png"), b"kept");
    folder.done(&[&png[..], &["--force"]].concat());
    assert!(folder.read("a.png").starts_with(b"\x89PNG"));
}
