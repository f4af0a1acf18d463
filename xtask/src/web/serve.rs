//! A local server for the web page. It sends the headers that a public server should send too.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// The Content-Security-Policy of the page, which allows only its own scripts, styles, images and
/// workers, and no other requests.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; \
                           img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The Content-Security-Policy of the worker, to which the policy of the page does not apply. The
/// worker runs WebAssembly, and requests its module and the files that the user opens by URL.
const WORKER_POLICY: &str =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' https: http:";

/// Maximum length of a request in bytes.
const MAX_REQUEST: u64 = 16 << 10;

/// Serves a folder until the process ends.
pub(super) fn serve(listener: &TcpListener, folder: &Path) {
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            // Ignore errors when answering a request, because the browser reports them.
            scope.spawn(move || answer(&stream, folder));
        }
    });
}

fn answer(mut stream: &TcpStream, folder: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut lines = BufReader::new(stream.take(MAX_REQUEST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = match first.split(' ').collect::<Vec<_>>()[..] {
        ["GET", path, _] => path.split('?').next().unwrap_or_default().trim_start_matches('/'),
        _ => {
            return stream
                .write_all(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
        }
    };
    let name = if name.is_empty() { "index.html" } else { name };
    // All files of the page are in a single folder, so reject names that lead out of it.
    let is_plain = !name.contains(['/', '\\', ':']) && !name.starts_with('.');
    let Some(body) = is_plain.then(|| fs::read(folder.join(name)).ok()).flatten() else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    let policy = if name == "worker.js" { WORKER_POLICY } else { PAGE_POLICY };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n",
        content_type(name),
        body.len(),
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
