//! What Rust's standard library needs of a sandbox: returns 0, or the line where it did not get it.
#![crate_type = "cdylib"]

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

macro_rules! must {
    ($condition:expr) => {
        if !$condition {
            return line!() as i32;
        }
    };
}

fn work() -> i32 {
    // The map's keys are seeded from the system.
    let mut words: HashMap<String, usize> = HashMap::new();
    for word in "a b a".split(' ') {
        *words.entry(word.to_string()).or_default() += 1;
    }
    must!(words["a"] == 2);
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let send = send.clone();
            thread::Builder::new().name(format!("worker-{i}")).spawn(move || send.send(i).is_ok())
        })
        .collect();
    for thread in threads {
        must!(thread.is_ok_and(|thread| thread.join().unwrap_or(false)));
    }
    drop(send);
    must!(receive.iter().sum::<i32>() == 6);
    let start = Instant::now();
    thread::sleep(Duration::from_micros(10));
    must!(start.elapsed() >= Duration::from_micros(10) && SystemTime::now() > SystemTime::UNIX_EPOCH);
    must!(thread::available_parallelism().is_ok());
    std::panic::set_hook(Box::new(|_| ()));
    must!(std::panic::catch_unwind(|| std::panic::panic_any(1)).is_err());
    let (mut one, mut other) = UnixStream::pair().expect("a pair");
    must!(one.write_all(b"wake").is_ok());
    let mut woken = [0; 4];
    must!(other.read_exact(&mut woken).is_ok() && &woken == b"wake");
    // What is refused comes back as an error of the right kind.
    let denied = |kind| kind == ErrorKind::PermissionDenied;
    must!(std::fs::read("/etc/passwd").is_err_and(|error| denied(error.kind())));
    must!(std::net::UdpSocket::bind("127.0.0.1:0").is_err_and(|error| denied(error.kind())));
    must!(UnixDatagram::pair().is_err_and(|error| denied(error.kind())));
    must!(Command::new("/bin/true").spawn().is_err_and(|error| denied(error.kind())));
    0
}

#[no_mangle]
pub extern "C" fn sandbox_work() -> i32 {
    work()
}
