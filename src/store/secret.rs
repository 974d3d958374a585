//! Random keys that outlive the process: of the hash that shares clients out, of cookies.

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError};

impl Store {
    /// The key called `name`: made of the system's randomness when it is first asked for, the same ever after.
    pub fn secret<const N: usize>(&self, name: &str) -> Result<[u8; N], StoreError> {
        const { assert!(N >= 16 && N <= 256, "a key has 16 octets at least; the system gives 256 at once") };
        self.write(|tx| {
            let kept =
                tx.query_row("SELECT octets FROM secret WHERE name = ?1", [name], |row| row.get(0)).optional()?;
            if let Some(key) = kept {
                return Ok(key);
            }
            let key = random::<N>().map_err(|source| StoreError::NoRandomness { name: name.to_owned(), source })?;
            tx.execute("INSERT INTO secret (name, octets) VALUES (?1, ?2)", params![name, key])?;
            Ok(key)
        })
    }
}

fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut octets = [0; N];
    // SAFETY: the pointer and length are those of one array that we own. Up to 256 octets come whole (getrandom(2)).
    let got = unsafe { libc::getrandom(octets.as_mut_ptr().cast(), N, 0) };
    if got == N as isize { Ok(octets) } else { Err(std::io::Error::last_os_error()) }
}
