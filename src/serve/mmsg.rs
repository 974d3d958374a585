//! Many datagrams with one system call: `recvmmsg` and `sendmmsg`. All `unsafe` of `serve/` is here.
//!
//! The headers that the kernel wants are made anew for every call from the buffers as they stand, so that no pointer
//! outlives the borrow that it came from; next to the call itself this costs nothing.

#![allow(clippy::unnecessary_cast, reason = "the same fields have other types in other C libraries")]

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use libc::{c_int, cmsghdr, iovec, mmsghdr, msghdr, sockaddr_storage, socklen_t};
use nix::poll::{PollFd, PollFlags, poll};

use crate::prefetch::LINE;

/// Datagrams taken in with one call at most.
pub const BATCH: usize = 32;
/// Octets of the longest query taken in over UDP.
pub const PACKET: usize = 4096;
/// Octets of the longest answer over UDP.
pub const ANSWER: usize = 4096;
/// How long to wait for room in the send buffer, once a batch.
const SEND_PATIENCE_MS: u8 = 5;
/// Room for `IPV6_PKTINFO`.
const CONTROL: usize = 64;

/// Whether to wait for a first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until there is one.
    ForOne,
    /// Not at all.
    Not,
}

/// What became of a batch of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Given to the kernel.
    pub sent: usize,
    /// Refused by it.
    pub failed: usize,
}

/// Buffers for a batch of queries and their answers.
#[derive(Debug)]
pub struct Batch {
    // Not a power of two apart, else all of them would fall into the same few sets of the cache.
    slots: Box<[Slot]>,
    filled: usize,
    /// Their answers, one behind the other: that way they lie in few pages, whose addresses the processor has translated already.
    answers: Box<[u8]>,
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Slot {
    control: Control,
    address: sockaddr_storage,
    address_len: socklen_t,
    received: usize,
    /// Where the answer lies, and how long it is; 0 is silence.
    answer: usize,
    answered: usize,
    /// Nobody, where the datagram was longer than the buffer or could not be answered.
    source: Option<SocketAddr>,
    asked: Option<Local>,
    /// Most are short, and lie in the same page as what is said of them.
    packet: [u8; PACKET],
}

#[derive(Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// The address of ours that a datagram was sent to, as far as a reply must name it.
#[derive(Clone, Copy, Debug)]
struct Local {
    address: IpAddr,
    /// Only for link-local addresses; elsewhere the routing table decides.
    interface: u32,
}

/// One query of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// What came.
    pub packet: &'a [u8],
    /// Where it came from and the answer will go.
    pub source: &'a SocketAddr,
    /// The address of ours that it was sent to, where the socket has several.
    pub asked: Option<IpAddr>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { slots: (0..BATCH).map(|_| Slot::new()).collect(), filled: 0, answers: vec![0; BATCH * ANSWER].into() }
    }
}

impl Batch {
    /// Takes in what is there, at most [`BATCH`] datagrams. Also returns, with none, when the socket was shut down, on
    /// a signal, or with [`Wait::Not`] when there is nothing.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, wait: Wait) -> io::Result<usize> {
        self.filled = 0;
        let mut vectors: [iovec; BATCH] = zeroed();
        let mut headers: [mmsghdr; BATCH] = zeroed();
        for ((slot, vector), header) in self.slots.iter_mut().zip(&mut vectors).zip(&mut headers) {
            *vector = iovec { iov_base: slot.packet.as_mut_ptr().cast(), iov_len: PACKET };
            header.msg_hdr = msghdr {
                msg_name: (&raw mut slot.address).cast(),
                msg_namelen: size_of::<sockaddr_storage>() as socklen_t,
                msg_iov: vector,
                msg_iovlen: 1,
                msg_control: slot.control.0.as_mut_ptr().cast(),
                msg_controllen: CONTROL as _,
                ..header.msg_hdr
            };
        }
        let flags = match wait {
            Wait::ForOne => libc::MSG_WAITFORONE,
            Wait::Not => libc::MSG_DONTWAIT,
        };
        // SAFETY: `headers` holds BATCH of them; each points to a vector, an address and a control buffer of the stated
        // sizes, all alive and borrowed by nobody else until the call returns. No time-out is given.
        let count = unsafe {
            libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), BATCH as _, flags as _, ptr::null_mut())
        };
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) => {
                let error = io::Error::last_os_error();
                let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                return if nothing { Ok(0) } else { Err(error) };
            }
        };
        // A message without an address is none: the socket was shut down.
        let count = headers[..count].iter().take_while(|header| header.msg_hdr.msg_namelen > 0).count();
        for (slot, header) in self.slots.iter_mut().zip(&headers[..count]) {
            slot.take_in(header);
        }
        self.filled = count;
        Ok(count)
    }

    /// The queries taken in.
    pub fn queries(&self) -> impl Iterator<Item = Query<'_>> {
        self.slots[..self.filled].iter().filter_map(Slot::query)
    }

    /// Has the queries answered, in their order: for each, `answer` writes into the room that it is given, and says how long the
    /// answer is; 0 is silence.
    pub fn answer(&mut self, mut answer: impl FnMut(Query<'_>, &mut [u8]) -> usize) {
        let mut used = 0;
        for slot in &mut self.slots[..self.filled] {
            let room = &mut self.answers[used..used + ANSWER];
            let answered = slot.query().map_or(0, |query| answer(query, room).min(ANSWER));
            (slot.answer, slot.answered) = (used, answered);
            used = (used + answered).next_multiple_of(LINE);
        }
    }

    /// Goes over queries and their answers; `look` may shorten an answer, and says how long it is then.
    pub fn look_over(&mut self, mut look: impl FnMut(Query<'_>, &mut [u8]) -> usize) {
        for slot in &mut self.slots[..self.filled] {
            let answer = &mut self.answers[slot.answer..slot.answer + slot.answered];
            let answered = slot.query().map_or(0, |query| look(query, answer));
            slot.answered = answered.min(slot.answered);
        }
    }

    /// Sends the answers, each from the address that was asked. One that the kernel refuses twice is left out, and the
    /// others are sent all the same; a full send buffer is waited for once, for a few milliseconds.
    pub fn send(&mut self, socket: BorrowedFd<'_>) -> Sent {
        let mut vectors: [iovec; BATCH] = zeroed();
        let mut headers: [mmsghdr; BATCH] = zeroed();
        let mut count = 0;
        for slot in self.slots[..self.filled].iter_mut().filter(|slot| slot.answered > 0) {
            let control = slot.reply_control();
            let answer = &self.answers[slot.answer..slot.answer + slot.answered];
            vectors[count] = iovec { iov_base: answer.as_ptr().cast_mut().cast(), iov_len: answer.len() };
            headers[count].msg_hdr = msghdr {
                msg_name: (&raw mut slot.address).cast(),
                msg_namelen: slot.address_len,
                msg_iov: &raw mut vectors[count],
                msg_iovlen: 1,
                msg_control: if control > 0 { slot.control.0.as_mut_ptr().cast() } else { ptr::null_mut() },
                msg_controllen: control as _,
                ..headers[count].msg_hdr
            };
            count += 1;
        }
        self.filled = 0;
        let wait = || _ = poll(&mut [PollFd::new(socket, PollFlags::POLLOUT)], SEND_PATIENCE_MS);
        send_all(&mut headers[..count], wait, |headers| {
            // SAFETY: as many headers as said; each points to a vector, an address and a control buffer of the stated
            // sizes, all alive and borrowed by nobody else until the call returns.
            let sent = unsafe {
                libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as _, libc::MSG_DONTWAIT as _)
            };
            usize::try_from(sent).map_err(|_| io::Error::last_os_error())
        })
    }
}

/// Sends what `send` will take, one failing header at a time left out after a second attempt; calls `wait` at most once,
/// when the send buffer is full.
fn send_all<H>(headers: &mut [H], wait: impl FnOnce(), mut send: impl FnMut(&mut [H]) -> io::Result<usize>) -> Sent {
    let (mut next, mut result, mut again, mut wait) = (0, Sent::default(), true, Some(wait));
    while next < headers.len() {
        match send(&mut headers[next..]) {
            Ok(sent) if sent > 0 => {
                next += sent;
                result.sent += sent;
                again = true;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && wait.is_some() => {
                wait.take().into_iter().for_each(|wait| wait());
            }
            // ENOBUFS passes, EPERM (a firewall) and ENETUNREACH concern one destination. None of them is worth the
            // delay of everybody else's answers.
            _ if again => again = false,
            _ => {
                next += 1;
                result.failed += 1;
                again = true;
            }
        }
    }
    result
}

impl Slot {
    fn new() -> Slot {
        Slot {
            control: Control([0; CONTROL]),
            address: zeroed(),
            address_len: 0,
            received: 0,
            answer: 0,
            answered: 0,
            source: None,
            asked: None,
            packet: [0; PACKET],
        }
    }

    /// The query, if it can be answered.
    #[inline]
    fn query(&self) -> Option<Query<'_>> {
        let (source, asked) = (self.source.as_ref()?, self.asked.map(|asked| asked.address));
        Some(Query { packet: &self.packet[..self.received], source, asked })
    }

    /// Reads what the kernel wrote beside the packet.
    fn take_in(&mut self, header: &mmsghdr) {
        (self.answer, self.answered) = (0, 0);
        self.received = (header.msg_len as usize).min(PACKET);
        self.address_len = header.msg_hdr.msg_namelen;
        let cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        self.source = socket_address(&self.address).filter(|source| !cut && source.port() != 0);
        self.asked = None;
        if header.msg_hdr.msg_controllen > 0 {
            self.read_control(&header.msg_hdr);
        }
    }

    fn read_control(&mut self, header: &msghdr) {
        // The header's own pointers come from a borrow that has ended; this one names the same buffer.
        let mut header = *header;
        header.msg_control = self.control.0.as_mut_ptr().cast();
        header.msg_controllen = (header.msg_controllen as usize).min(CONTROL) as _;
        // SAFETY: the control buffer is aligned for `cmsghdr` and holds `msg_controllen` octets that the kernel wrote.
        let mut message = unsafe { libc::CMSG_FIRSTHDR(&header) };
        // SAFETY: not null, so it points to a whole `cmsghdr` in the control buffer.
        while let Some(cmsghdr { cmsg_level, cmsg_type, cmsg_len }) = unsafe { message.as_ref() } {
            match (*cmsg_level, *cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    if let Some(info) = payload::<libc::in_pktinfo>(message, *cmsg_len as usize) {
                        let address = Ipv4Addr::from_bits(u32::from_be(info.ipi_spec_dst.s_addr)).into();
                        self.asked = Some(Local { address, interface: 0 });
                    }
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    if let Some(info) = payload::<libc::in6_pktinfo>(message, *cmsg_len as usize) {
                        let address = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                        let interface = if address.is_unicast_link_local() { info.ipi6_ifindex as u32 } else { 0 };
                        self.asked = Some(Local { address: address.into(), interface });
                    }
                }
                _ => {}
            }
            // SAFETY: `message` is a control message of this header.
            message = unsafe { libc::CMSG_NXTHDR(&header, message) };
        }
    }

    /// Writes the control message that makes the reply leave from the address asked; returns its length.
    fn reply_control(&mut self) -> usize {
        match self.asked {
            None => 0,
            Some(Local { address: IpAddr::V4(address), .. }) => {
                let source = libc::in_addr { s_addr: address.to_bits().to_be() };
                let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: source };
                self.control.write(libc::IPPROTO_IP, libc::IP_PKTINFO, info)
            }
            Some(Local { address: IpAddr::V6(address), interface }) => {
                let ipi6_addr = libc::in6_addr { s6_addr: address.octets() };
                let info = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: interface as _ };
                self.control.write(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info)
            }
        }
    }
}

impl Control {
    fn write<T: Plain>(&mut self, level: c_int, kind: c_int, value: T) -> usize {
        let size = size_of::<T>() as u32;
        // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
        let (space, length) = unsafe { (libc::CMSG_SPACE(size) as usize, libc::CMSG_LEN(size) as usize) };
        assert!(space <= CONTROL);
        self.0 = [0; CONTROL];
        let message: *mut cmsghdr = self.0.as_mut_ptr().cast();
        // SAFETY: the buffer is aligned for `cmsghdr`, CMSG_DATA lies `length - size` octets behind its start, and
        // `space`, which covers header and value, fits into it.
        unsafe {
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = length as _;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
        }
        space
    }
}

/// Types of C without pointers or padding that matters: any octets make one.
trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for libc::in_pktinfo {}
impl Plain for libc::in6_pktinfo {}
impl Plain for iovec {}
impl Plain for mmsghdr {}
impl Plain for sockaddr_storage {}
impl<T: Plain, const N: usize> Plain for [T; N] {}

/// All octets zero: for pointers among them null.
fn zeroed<T: Plain>() -> T {
    // SAFETY: for all `Plain` types, zeroes are a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// What a control message of `length` octets carries, if it is long enough.
fn payload<T: Plain>(message: *const cmsghdr, length: usize) -> Option<T> {
    // SAFETY: CMSG_LEN only computes.
    if length < unsafe { libc::CMSG_LEN(size_of::<T>() as u32) } as usize {
        return None;
    }
    // SAFETY: the message is inside the control buffer with all its `length` octets, which hold a header and a `T`.
    Some(unsafe { libc::CMSG_DATA(message).cast::<T>().read_unaligned() })
}

fn socket_address(address: &sockaddr_storage) -> Option<SocketAddr> {
    let start = ptr::from_ref(address);
    match c_int::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: a `sockaddr_storage` is at least as large and as aligned as a `sockaddr_in`, which it holds.
            let v4 = unsafe { &*start.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above, with a `sockaddr_in6`.
            let v6 = unsafe { &*start.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Keeps forged "fragmentation needed" messages from shrinking our path MTU. Datagrams leave whole (`IP_PMTUDISC_PROBE`, with
/// DF set, as RFC 9715 §3.1 wants it; the kernel need not draw an identifier for each then), or, where answers may be longer than
/// what passes everywhere, in fragments if they have to (`IP_PMTUDISC_OMIT`).
pub fn ignore_path_mtu(socket: BorrowedFd<'_>, v6: bool, in_fragments: bool) -> io::Result<()> {
    let (level, option, value) = match (v6, in_fragments) {
        (true, true) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_OMIT),
        (true, false) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
        (false, true) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_OMIT),
        (false, false) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
    };
    let value: c_int = value;
    // SAFETY: the option takes an int; it is given one that is alive, and its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            mem::size_of_val(&value) as socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many datagrams the kernel dropped since a socket's queue was full.
///
/// It would tell with each datagram (`SO_RXQ_OVFL`), which costs all of them more than it does to ask.
pub fn overflowed(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut numbers = [0u32; MEMINFO];
    let mut size = mem::size_of_val(&numbers) as socklen_t;
    // SAFETY: the option gives an array of 32-bit numbers; it is given room for them that is alive, and its size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            (&raw mut numbers).cast(),
            &raw mut size,
        )
    };
    if result == 0 { Ok(numbers[MEMINFO - 1]) } else { Err(io::Error::last_os_error()) }
}

/// Numbers that `SO_MEMINFO` gives; the drops (`SK_MEMINFO_DROPS`) are the last.
const MEMINFO: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use nix::sys::socket::{setsockopt, sockopt};

    #[test]
    fn a_refused_destination_loses_nobody_elses_answer() {
        use ErrorKind::{PermissionDenied, WouldBlock};
        // Which headers the kernel refuses and how, how often, and what it should come to.
        for (refused, how, times, expected, waits) in [
            (&[][..], PermissionDenied, 9, Sent { sent: 7, failed: 0 }, 0),
            (&[0], PermissionDenied, 9, Sent { sent: 6, failed: 1 }, 0),
            (&[6], PermissionDenied, 9, Sent { sent: 6, failed: 1 }, 0),
            (&[2, 3, 5], PermissionDenied, 9, Sent { sent: 4, failed: 3 }, 0),
            (&[2, 5], PermissionDenied, 1, Sent { sent: 7, failed: 0 }, 0),
            (&[2, 5], WouldBlock, 1, Sent { sent: 7, failed: 0 }, 1),
            (&[2], WouldBlock, 2, Sent { sent: 7, failed: 0 }, 1),
            (&[2], WouldBlock, 9, Sent { sent: 6, failed: 1 }, 1),
            (&[0, 1, 2, 3, 4, 5, 6], WouldBlock, 9, Sent { sent: 0, failed: 7 }, 1),
        ] {
            let mut left = [times; 7];
            let (mut out, mut waited) = (Vec::new(), 0);
            let bad = |header: usize, left: &[i32; 7]| refused.contains(&header) && left[header] > 0;
            let sent = send_all(
                &mut [0, 1, 2, 3, 4, 5, 6],
                || waited += 1,
                |headers| {
                    let good = headers.iter().take_while(|header| !bad(**header, &left)).count();
                    if good == 0 {
                        left[headers[0]] -= 1;
                        return Err(how.into());
                    }
                    out.extend_from_slice(&headers[..good]);
                    Ok(good)
                },
            );
            assert_eq!((sent, out.len(), waited), (expected, expected.sent, waits), "{refused:?} {how} {times}");
            assert!(out.is_sorted());
        }
    }

    #[test]
    fn what_a_full_queue_drops_is_known() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        setsockopt(&server, sockopt::RcvBuf, &4096).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let (mut batch, mut received) = (Batch::default(), 0);
        let mut drain = || {
            let mut received = 0;
            while batch.receive(server.as_fd(), Wait::Not).unwrap() > 0 {
                received += batch.queries().count();
            }
            received
        };
        for _ in 0..200 {
            client.send(&[0; 20]).unwrap();
        }
        received += drain();
        let dropped = overflowed(server.as_fd()).unwrap() as usize;
        assert!(dropped > 0);
        assert_eq!(received + dropped, 200);
    }

    #[test]
    fn a_batch_goes_in_and_comes_back() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let server = UdpSocket::bind(address).unwrap();
            let client = UdpSocket::bind(address).unwrap();
            client.connect(server.local_addr().unwrap()).unwrap();
            let mut batch = Batch::default();
            assert_eq!(batch.receive(server.as_fd(), Wait::Not).unwrap(), 0);
            for number in 0..40u8 {
                client.send(&[number; 20]).unwrap();
            }
            client.send(&[0; PACKET + 1]).unwrap();
            let mut seen = 0;
            while batch.receive(server.as_fd(), Wait::Not).unwrap() > 0 {
                batch.answer(|query, room| {
                    assert_eq!(*query.source, client.local_addr().unwrap());
                    room.fill(query.packet[0]);
                    seen += 1;
                    // Every other one gets silence, and one the longest answer.
                    if query.packet[0] == 5 { ANSWER } else { usize::from(query.packet[0] % 2) }
                });
                // One becomes shorter, one is held back.
                batch.look_over(|query, answer| {
                    assert!(answer.iter().all(|octet| *octet == query.packet[0]));
                    match query.packet[0] {
                        5 => 5,
                        7 => 0,
                        _ => answer.len(),
                    }
                });
                let wanted = batch.slots[..batch.filled].iter().filter(|slot| slot.answered > 0).count();
                assert_eq!(batch.send(server.as_fd()), Sent { sent: wanted, failed: 0 });
            }
            // The one too long to be a query is not among them.
            assert_eq!(seen, 40);
            client.set_nonblocking(true).unwrap();
            let mut buffer = [0; 9];
            let answers: Vec<(u8, usize)> =
                std::iter::from_fn(|| client.recv(&mut buffer).ok().map(|n| (buffer[n - 1], n))).collect();
            let wanted = (0..40).filter(|number| number % 2 == 1 && *number != 7);
            assert_eq!(answers, wanted.map(|number| (number, if number == 5 { 5 } else { 1 })).collect::<Vec<_>>());
        }
    }
}
