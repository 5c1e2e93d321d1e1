//! Servers as processes of their own, and the load on them: blocking sockets on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Outcome;

/// Text chunks of the stream of 20 events: the task, WORKING, the chunks, COMPLETED.
pub(crate) const STREAM_CHUNKS: usize = 17;

/// A server process; it ends with this value.
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(role: &str) -> Outcome<Self> {
        Self::start_with(role, &[])
    }

    pub(crate) fn start_with(role: &str, args: &[&str]) -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(role)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address)?;
        Ok(Self {
            process,
            address: address.trim().to_owned(),
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// CPU time of the process so far, user and system, from `/proc`.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()))?;
        let mut nanos = 0;
        for task in tasks {
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let on_cpu = schedstat.split(' ').next().unwrap_or_default();
            nanos += on_cpu.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Sends `request` `count` times over `connections` connections; CPU time per request, and
    /// the size of one response.
    pub(crate) fn measure(
        &self,
        request: &[u8],
        count: usize,
        connections: usize,
    ) -> Outcome<(Duration, usize)> {
        let each = count / connections;
        let before = self.cpu()?;
        let workers: Vec<_> = (0..connections)
            .map(|_| {
                let (address, request) = (self.address.clone(), request.to_vec());
                std::thread::spawn(move || {
                    send(&address, &request, each).map_err(|e| e.to_string())
                })
            })
            .collect();
        let mut size = 0;
        for worker in workers {
            size = worker.join().map_err(|_| "a load thread panicked")??;
        }
        let used = self.cpu()? - before;
        let count = u32::try_from(each * connections)?;
        Ok((used / count, size))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn send(address: &str, request: &[u8], count: usize) -> Outcome<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::with_capacity(256 * 1024, stream.try_clone()?);
    let mut size = 0;
    for _ in 0..count {
        stream.write_all(request)?;
        size = read_response(&mut reader)?;
    }
    Ok(size)
}

/// Reads one response and returns the length of its body.
fn read_response(reader: &mut BufReader<TcpStream>) -> Outcome<usize> {
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err("the server closed the connection".into());
        }
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = Some(value.trim().parse::<usize>()?);
        }
    }
    let Some(length) = length else {
        return read_chunks(reader);
    };
    skip(reader, length)?;
    Ok(length)
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> Outcome<usize> {
    let mut total = 0;
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim_end(), 16)?;
        skip(reader, length + 2)?;
        if length == 0 {
            return Ok(total);
        }
        total += length;
    }
}

fn skip(reader: &mut BufReader<TcpStream>, mut length: usize) -> Outcome<()> {
    let mut buffer = [0; 16 * 1024];
    while length > 0 {
        let most = length.min(buffer.len());
        let part = buffer.get_mut(..most).unwrap_or_default();
        let read = reader.read(part)?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        length -= read;
    }
    Ok(())
}

/// A JSON-RPC request as bytes of HTTP/1.1.
pub(crate) fn request(method: &str, params: &str) -> Vec<u8> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":"1","method":"{method}","params":{params}}}"#);
    format!(
        "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\na2a-version: 1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The parameters that send a message of `text` and these data parts.
pub(crate) fn message(text: &str, data: &[String]) -> String {
    let mut parts = vec![format!(r#"{{"text":"{text}"}}"#)];
    parts.extend(data.iter().map(|json| format!(r#"{{"data":{json}}}"#)));
    format!(
        r#"{{"message":{{"messageId":"9b2f6c1e-5a0d-4a58-9a2b-6b1f0e2d3c4b","role":"ROLE_USER","parts":[{}]}}}}"#,
        parts.join(",")
    )
}
