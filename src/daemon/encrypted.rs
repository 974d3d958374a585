//! Encrypted transports, as they are configured.

use std::sync::Arc;

use super::{plain, unbound};
use crate::config::Config;
use crate::config::protocol::Encrypted;
use crate::control::api::{EncryptedListener, Failure};
use crate::serve::Stage;
use crate::serve::certificates::{CertificateFiles, Certificates};
use crate::serve::descriptors::Room;
use crate::serve::encrypted::{EncryptedListeners, EncryptedRunning, EncryptedSettings, Scheme};
use crate::serve::tcp::TcpLimits;

/// All that needs the rights that are given up afterwards: sockets and the key.
pub(super) struct Prepared {
    listeners: EncryptedListeners,
    pub(super) certificates: Arc<Certificates>,
}

/// Binds the sockets and reads the certificate.
pub(super) fn prepare(encrypted: &Encrypted, config: &Config, room: Room) -> Result<Prepared, Failure> {
    let by =
        |scheme: Scheme, addresses: &[_]| -> Vec<_> { addresses.iter().map(|&address| (scheme, address)).collect() };
    let limits = &encrypted.limits;
    let settings = EncryptedSettings {
        addresses: [
            by(Scheme::Tls, &encrypted.dot),
            by(Scheme::Https, &encrypted.doh),
            by(Scheme::Quic, &encrypted.doq),
        ]
        .concat(),
        path: encrypted.doh_path.clone(),
        limits: TcpLimits {
            connections: room.share(limits.connections),
            for_client: limits.per_client,
            idle: limits.idle,
            write: limits.write,
            ..TcpLimits::default()
        },
    };
    let certificates = Certificates::load(&files(encrypted)).map_err(plain)?;
    let listeners =
        EncryptedListeners::bind(&settings).map_err(|error| unbound(config.place("server.encrypted"), error))?;
    Ok(Prepared { listeners, certificates })
}

/// Where the certificate is.
pub(super) fn files(encrypted: &Encrypted) -> CertificateFiles {
    CertificateFiles { certificate: encrypted.certificate.clone(), key: encrypted.key.clone() }
}

impl Prepared {
    /// Where it listens.
    pub(super) fn addresses(&self) -> Vec<EncryptedListener> {
        let listener = |(scheme, address): (Scheme, _)| EncryptedListener { transport: scheme.name().into(), address };
        self.listeners.addresses().into_iter().map(listener).collect()
    }

    /// Starts to answer.
    pub(super) fn run(self, stage: &Arc<Stage>) -> Result<EncryptedRunning, Failure> {
        let addresses = self.addresses();
        let running = self.listeners.run(stage, &self.certificates).map_err(plain)?;
        for EncryptedListener { transport, address } in addresses {
            tracing::info!(%address, transport, "listening, encrypted");
        }
        Ok(running)
    }
}
