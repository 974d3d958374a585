//! A server's process and all that it started, and what they use.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::hold::last_processor;

/// A server that runs; it ends when this is dropped.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command on the last processor, its output in `dir`.
    pub fn start(command: &[String], dir: &Path) -> Process {
        let pinned = ["taskset".into(), "-c".into(), last_processor().to_string()];
        Process::start_anywhere(&[&pinned, command].concat(), dir)
    }

    /// Starts a command, its output in `dir`.
    pub fn start_anywhere(command: &[String], dir: &Path) -> Process {
        let output = File::create(dir.join("output")).expect("a file for the output");
        let child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file for the output"))
            .stderr(output)
            .process_group(0)
            .spawn()
            .expect("the command is installed");
        Process { child }
    }

    /// The process's id.
    pub fn id(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.tree().len() > 1
            || fs::read_to_string(format!("/proc/{}/stat", self.id())).is_ok_and(|s| !s.contains(") Z"))
    }

    /// Its id and those of all that descend from it.
    fn tree(&self) -> Vec<Pid> {
        let mut found = vec![self.id()];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            at += 1;
            for task in entries(&format!("/proc/{parent}/task")) {
                let children = fs::read_to_string(format!("{task}/children")).unwrap_or_default();
                found.extend(children.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw));
            }
        }
        found
    }

    /// The CPU time of all threads that there are now.
    pub fn cpu(&self) -> Duration {
        let tasks = self.tree().into_iter().flat_map(|id| entries(&format!("/proc/{id}/task")));
        let nanoseconds = tasks.filter_map(|task| {
            fs::read_to_string(format!("{task}/schedstat")).ok()?.split_whitespace().next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// The CPU time of all threads that there are or were, in the steps of the system's clock; children that were not
    /// waited for are left out once they have ended.
    pub fn cpu_with_ended(&self) -> Duration {
        let ticks = self.tree().into_iter().filter_map(|id| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // Behind the name, which may hold blanks: user and system time, then those of ended children.
            let fields = stat.rsplit_once(')')?.1.split_whitespace();
            Some(fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
        });
        // Linux shows a hundredth of a second, whatever its own clock (`USER_HZ`).
        Duration::from_millis(ticks.sum::<u64>() * 10)
    }

    /// The memory that it alone is to blame for (PSS), in megabytes.
    pub fn megabytes(&self) -> f64 {
        let kilobytes = self.tree().into_iter().filter_map(|id| {
            let rollup = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
            rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?.parse::<f64>().ok()
        });
        kilobytes.sum::<f64>() / 1024.0
    }

    fn signal(&self, signal: Signal) {
        for id in self.tree() {
            let _ = kill(id, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
        self.signal(Signal::SIGTERM);
        std::thread::sleep(Duration::from_millis(200));
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn entries(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().display().to_string()).collect()
}
