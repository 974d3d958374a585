//! The floor: packets go back as they came, but for the QR bit, many with one system call.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// As many as the server takes at a time.
const BATCH: usize = 32;
const PACKET: usize = 1280;

/// Sends packets back until it is killed.
pub fn serve(address: SocketAddr) -> ! {
    let socket = UdpSocket::bind(address).expect("the address is free");
    let large: libc::c_int = 4 << 20;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUF] {
        // SAFETY: the option takes an int; it is given one that is alive, and its size.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const large).cast(), 4);
        }
    }
    let mut packets = vec![[0u8; PACKET]; BATCH];
    // SAFETY: zeroes are a value of all of these.
    let (mut addresses, mut vectors, mut headers): (
        [libc::sockaddr_storage; BATCH],
        [libc::iovec; BATCH],
        [libc::mmsghdr; BATCH],
    ) = unsafe { std::mem::zeroed() };
    loop {
        for slot in 0..BATCH {
            vectors[slot] = libc::iovec { iov_base: packets[slot].as_mut_ptr().cast(), iov_len: PACKET };
            headers[slot].msg_hdr.msg_name = (&raw mut addresses[slot]).cast();
            headers[slot].msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as u32;
            headers[slot].msg_hdr.msg_iov = &raw mut vectors[slot];
            headers[slot].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: BATCH headers, each to a vector, an address and a buffer that are alive and of the stated sizes.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_WAITFORONE,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).unwrap_or(0);
        for slot in 0..received {
            packets[slot][2] |= 0x80;
            vectors[slot].iov_len = headers[slot].msg_len as usize;
        }
        // SAFETY: as above; as many as were received.
        unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), received as u32, 0) };
    }
}
