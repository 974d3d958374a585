//! The thread that writes to a collector or a file, and comes back when there is none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::ring::Record;
use super::wire::{Control, Encoder, control, expect};
use super::{Rings, Settings, Target};

/// How long the thread waits: while there is work, and when there is none.
const WAIT: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(10));
/// First and longest pause after somebody who collects was not there or went away.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// How long a collector may take to take something, or to say that it is ready.
const PATIENCE: Duration = Duration::from_secs(5);
/// Once so many octets of frames are ready they are written.
const ENOUGH: usize = 64 * 1024;
/// How many exchanges of a worker are written before others get their turn.
const AT_ONCE: u32 = 4096;
/// How often it is said how many were lost, if more were.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Writes what is shown until told to stop.
pub(super) fn run(rings: &Rings, settings: &Settings) {
    let mut writer = Writer {
        rings,
        settings,
        encoder: Encoder::new(settings.identity.as_deref()),
        record: Record::default(),
        frames: Vec::new(),
        pending: 0,
        out: None,
        again: (Instant::now(), BACK_OFF.0),
        complained: false,
    };
    let (mut wait, mut told) = (WAIT.0, (Instant::now(), 0));
    loop {
        // Before the rings are looked at: what was shown before the stop is written.
        let stop = rings.stop.load(Ordering::Acquire);
        let mut worked = writer.turn();
        while stop && worked {
            worked = writer.turn();
        }
        if stop || told.0.elapsed() >= TELL_EVERY {
            told = (Instant::now(), tell(settings, rings.lost(), told.1));
        }
        if stop {
            return writer.close();
        }
        wait = if worked { WAIT.0 } else { (wait * 2).min(WAIT.1) };
        thread::sleep(wait);
    }
}

/// Says how many were lost since it was said last.
fn tell(settings: &Settings, lost: u64, before: u64) -> u64 {
    if lost > before {
        let more = lost - before;
        let to = &settings.to;
        tracing::warn!(
            "{more} queries with their answers were not shown by dnstap: {to} does not take them fast enough"
        );
    }
    lost
}

struct Writer<'a> {
    rings: &'a Rings,
    settings: &'a Settings,
    encoder: Encoder,
    record: Record,
    /// Frames that are ready, and of how many exchanges they are.
    frames: Vec<u8>,
    pending: u64,
    out: Option<Output>,
    /// When to look again for who collects, and how long to wait if that is in vain.
    again: (Instant, Duration),
    /// Whether the log says that nobody collects.
    complained: bool,
}

impl Writer<'_> {
    /// Writes what is there; whether there was anything. While nobody collects the rings are left as they are.
    fn turn(&mut self) -> bool {
        if self.out.is_none() && Instant::now() >= self.again.0 {
            self.open();
        }
        let rings = self.rings.all().clone();
        let mut worked = false;
        for ring in &rings {
            let mut left = AT_ONCE;
            while left > 0 && self.out.is_some() && ring.read(&mut self.record) {
                self.encoder.exchange(&self.record, &mut self.frames);
                self.pending += 1;
                (left, worked) = (left - 1, true);
                if self.frames.len() >= ENOUGH {
                    self.write();
                }
            }
        }
        self.write();
        worked
    }

    /// Writes the frames that are ready.
    fn write(&mut self) {
        let Some(out) = self.out.as_mut().filter(|_| self.pending > 0) else { return };
        let written = out.write(&self.frames);
        self.frames.clear();
        let pending = std::mem::take(&mut self.pending);
        match written {
            Ok(Room::Left) => {}
            Ok(Room::Used) => {
                self.close();
                self.open();
            }
            Err(error) => {
                self.rings.unsent.fetch_add(pending, Ordering::Relaxed);
                self.out = None;
                self.complain(&error);
            }
        }
    }

    fn open(&mut self) {
        match Output::open(&self.settings.to) {
            Ok(out) => {
                if self.complained {
                    tracing::info!("dnstap goes to {} again", self.settings.to);
                }
                (self.out, self.complained) = (Some(out), false);
                self.again.1 = BACK_OFF.0;
            }
            Err(error) => self.complain(&error),
        }
    }

    /// Says once that nobody collects, and when to look again.
    fn complain(&mut self, error: &io::Error) {
        if !self.complained {
            let to = &self.settings.to;
            tracing::warn!("dnstap can't go to {to}: {error}. Queries are answered all the same; it is tried again");
        }
        self.complained = true;
        self.again = (Instant::now() + self.again.1, (self.again.1 * 2).min(BACK_OFF.1));
    }

    fn close(&mut self) {
        if let Some(Err(error)) = self.out.take().map(Output::close) {
            tracing::debug!(%error, "the end of dnstap could not be written");
        }
    }
}

/// Whether a file has room for more.
enum Room {
    Left,
    Used,
}

/// What a file of frames begins with: a control frame.
const ESCAPE: [u8; 4] = [0; 4];

/// Where frames go.
enum Output {
    Socket(UnixStream),
    File { file: File, most: u64, written: u64 },
}

impl Output {
    fn open(target: &Target) -> io::Result<Output> {
        match target {
            Target::Socket(path) => {
                let mut stream = UnixStream::connect(path)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(&control(Control::Ready))?;
                expect(&mut stream, Control::Accept)?;
                stream.write_all(&control(Control::Start))?;
                Ok(Output::Socket(stream))
            }
            Target::File { path, most } => {
                keep(path)?;
                let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(path)?;
                file.write_all(&control(Control::Start))?;
                Ok(Output::File { file, most: *most, written: 0 })
            }
        }
    }

    fn write(&mut self, frames: &[u8]) -> io::Result<Room> {
        match self {
            Output::Socket(stream) => stream.write_all(frames).map(|()| Room::Left),
            Output::File { file, most, written } => {
                file.write_all(frames)?;
                *written += frames.len() as u64;
                Ok(if written < most { Room::Left } else { Room::Used })
            }
        }
    }

    fn close(mut self) -> io::Result<()> {
        let stop = control(Control::Stop);
        match &mut self {
            Output::Socket(stream) => {
                stream.write_all(&stop)?;
                expect(stream, Control::Finish)
            }
            Output::File { file, .. } => file.write_all(&stop),
        }
    }
}

/// Moves aside what stands at `path`: a file of frames can't be gone on with. What is no file of frames is somebody else's.
fn keep(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let mut front = Vec::new();
    File::open(path)?.take(ESCAPE.len() as u64).read_to_end(&mut front)?;
    if !front.is_empty() && front != ESCAPE {
        let what = format!("{} is there already and is no dnstap file: it is left as it is", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".1");
    fs::rename(path, aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone file, a database, a configuration: whatever is no file of frames stays where it is.
    #[test]
    fn what_is_somebody_elses_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("file");
        for (there, moves) in [(&b"$TTL 60\n"[..], false), (b"SQLite format 3\0", false), (&[0; 60], true), (b"", true)]
        {
            fs::write(&at, there).unwrap();
            assert_eq!(keep(&at).is_ok(), moves, "{there:?}");
            assert_eq!(at.exists(), !moves);
            if !moves {
                assert_eq!(fs::read(&at).unwrap(), there);
            }
        }
    }
}
