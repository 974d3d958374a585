//! The certificate of the encrypted transports: read from files, and read again without a restart.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Where the certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, then those that it was signed by (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
}

/// Why there is no certificate in the files.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("the {what} {} cannot be read: {source}. {}", path.display(), advice(source))]
    Unreadable {
        /// `certificate` or `key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds something else.
    #[error(
        "the {what} {} is not one in PEM: {source}. It has to hold a block `-----BEGIN {}-----`",
        path.display(), if *what == "key" { "PRIVATE KEY" } else { "CERTIFICATE" }
    )]
    NotPem {
        /// `certificate` or `key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: pem::Error,
    },
    /// The two files do not go together, or hold what cannot be used.
    #[error(
        "the certificate {} and the key {} cannot be used: {source}. Both have to be of the same key pair: RSA, ECDSA \
         (P-256, P-384) or Ed25519",
        files.certificate.display(), files.key.display()
    )]
    Unusable {
        /// The files.
        files: CertificateFiles,
        /// What is wrong.
        source: rustls::Error,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "Is the path right? It starts from the directory of the configuration file",
        io::ErrorKind::PermissionDenied => {
            "A reload reads it as the user that the server runs as: let that user read it"
        }
        _ => "",
    }
}

/// The certificate that handshakes are made with.
#[derive(Debug)]
pub struct Certificates {
    current: ArcSwap<CertifiedKey>,
}

impl Certificates {
    /// Reads the files.
    pub fn load(files: &CertificateFiles) -> Result<Arc<Certificates>, CertificateError> {
        Ok(Arc::new(Certificates { current: ArcSwap::from_pointee(read(files)?) }))
    }

    /// Reads the files again. New connections are made with what is in them; if that is nothing good, with what they
    /// were made with before.
    pub fn reload(&self, files: &CertificateFiles) -> Result<(), CertificateError> {
        self.current.store(Arc::new(read(files)?));
        Ok(())
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

fn read(files: &CertificateFiles) -> Result<CertifiedKey, CertificateError> {
    let chain = contents("certificate", &files.certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&chain)
        .collect::<Result<_, _>>()
        .and_then(|chain: Vec<_>| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(|source| not_pem("certificate", &files.certificate, source))?;
    let key = PrivateKeyDer::from_pem_slice(&contents("key", &files.key)?)
        .map_err(|source| not_pem("key", &files.key, source))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|source| CertificateError::Unusable { files: files.clone(), source })
}

fn contents(what: &'static str, path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|source| CertificateError::Unreadable { what, path: path.into(), source })
}

fn not_pem(what: &'static str, path: &Path, source: pem::Error) -> CertificateError {
    CertificateError::NotPem { what, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_broken_certificate_leaves_the_last_good_one() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one.example", "two.example"].map(|name| {
            let made = rcgen::generate_simple_self_signed(vec![name.into()]).unwrap();
            (made.cert.pem(), made.signing_key.serialize_pem())
        });
        let files = CertificateFiles { certificate: dir.path().join("cert"), key: dir.path().join("key") };
        assert!(Certificates::load(&files).unwrap_err().to_string().contains("cannot be read"));
        write(dir.path(), "cert", &one.0);
        write(dir.path(), "key", &one.1);
        let certificates = Certificates::load(&files).unwrap();
        let first = certificates.current.load_full();
        for (certificate, key, said) in [
            (&*two.0, &*one.1, "same key pair"),
            ("", &*two.1, "not one in PEM"),
            (&*two.0, "nothing", "not one in PEM"),
            (&*two.0, &*two.0, "not one in PEM"),
        ] {
            write(dir.path(), "cert", certificate);
            write(dir.path(), "key", key);
            let error = certificates.reload(&files).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(Arc::ptr_eq(&first, &certificates.current.load_full()));
        }
        write(dir.path(), "cert", &two.0);
        write(dir.path(), "key", &two.1);
        certificates.reload(&files).unwrap();
        assert_ne!(first.cert, certificates.current.load().cert);
    }
}
