//! Queries by hand, and a client that reads frames.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use understudy::serve::tcp::TcpLimits;
use understudy::serve::{ListenSettings, Listeners, Running, Stage};

/// The RCODE of what an empty `Serving` answers.
pub const REFUSED: u8 = 5;

/// Long enough for any machine; reached only when a test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Binds these addresses.
pub fn listeners(addresses: &[&str], workers: usize, tcp: TcpLimits) -> Listeners {
    let settings = ListenSettings {
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        workers: NonZeroUsize::new(workers).unwrap(),
        tcp,
        ..ListenSettings::default()
    };
    Listeners::bind(&settings).unwrap()
}

/// Answers on these addresses from nothing.
pub fn serve(addresses: &[&str], workers: usize, tcp: TcpLimits) -> (Running, Arc<Stage>) {
    let stage = Stage::new(Arc::default()).unwrap();
    (listeners(addresses, workers, tcp).run(&stage).unwrap(), stage)
}

/// `www.example. A`, which an empty `Serving` refuses.
pub fn query(id: u16) -> Vec<u8> {
    let mut query = vec![0; 12];
    query[..2].copy_from_slice(&id.to_be_bytes());
    query[5] = 1;
    query.extend_from_slice(b"\x03www\x07example\0\0\x01\0\x01");
    query
}

/// A message with its length before it.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = (message.len() as u16).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    frame
}

/// A datagram socket that does not wait for ever and has room for some thousand answers.
pub fn udp_client(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    setsockopt(&socket, sockopt::RcvBuf, &(4 << 20)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A TCP client.
pub struct Client(pub TcpStream);

impl Client {
    pub fn connect(server: SocketAddr) -> Client {
        Client::connect_from("127.0.0.1", server)
    }

    pub fn connect_from(source: &str, server: SocketAddr) -> Client {
        Client::unconnected(source, None).connect_to(server)
    }

    /// A socket that has a descriptor and a source, and no more yet.
    pub fn unconnected(source: &str, receive_buffer: Option<usize>) -> Client {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        if let Some(octets) = receive_buffer {
            setsockopt(&socket, sockopt::RcvBuf, &octets).unwrap();
        }
        let source: SocketAddr = format!("{source}:0").parse().unwrap();
        let fd = socket.into_raw_fd();
        bind(fd, &SockaddrStorage::from(source)).unwrap();
        // SAFETY: the descriptor was just made and is owned by nobody else.
        Client(unsafe { TcpStream::from_raw_fd(fd) })
    }

    pub fn connect_to(self, server: SocketAddr) -> Client {
        self.try_connect_to(server).unwrap()
    }

    /// None if the server has no room even to be connected to.
    pub fn try_connect_to(self, server: SocketAddr) -> Option<Client> {
        use std::os::fd::AsRawFd;
        connect(self.0.as_raw_fd(), &SockaddrStorage::from(server)).ok()?;
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        Some(self)
    }

    pub fn ask(&mut self, query: &[u8]) -> io::Result<Vec<u8>> {
        self.0.write_all(&frame(query))?;
        self.answer()
    }

    pub fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 2];
        self.0.read_exact(&mut length)?;
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        self.0.read_exact(&mut answer)?;
        Ok(answer)
    }

    /// Waits for the server to close; whether it did without a word.
    pub fn closed(&mut self) -> bool {
        match self.0.read(&mut [0; 1]) {
            Ok(octets) => octets == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
