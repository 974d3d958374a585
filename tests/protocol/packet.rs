//! Packets as nobody sends them on purpose, put together part by part.

/// The name that packets ask for unless said otherwise.
pub const WWW: &[u8] = b"\x03www\x07example\0";

/// A packet in the making.
#[derive(Clone, Debug)]
pub struct Packet {
    pub flags: [u8; 2],
    questions: Vec<Vec<u8>>,
    records: [Vec<Vec<u8>>; 3],
    /// Counts to claim instead of the true ones.
    claimed: [Option<u16>; 4],
    tail: Vec<u8>,
}

impl Packet {
    /// Only a header.
    pub fn empty() -> Packet {
        let (questions, records) = (Vec::new(), Default::default());
        Packet { flags: [0; 2], questions, records, claimed: [None; 4], tail: Vec::new() }
    }

    /// A question in class IN.
    pub fn ask(name: &[u8], qtype: u16) -> Packet {
        Packet::empty().question(name, qtype, 1)
    }

    /// `www.example. A`.
    pub fn www() -> Packet {
        Packet::ask(WWW, 1)
    }

    pub fn question(mut self, name: &[u8], qtype: u16, class: u16) -> Packet {
        self.questions.push([name, &qtype.to_be_bytes(), &class.to_be_bytes()].concat());
        self
    }

    pub fn opcode(mut self, opcode: u8) -> Packet {
        self.flags[0] = self.flags[0] & 0x87 | opcode << 3;
        self
    }

    pub fn flags(mut self, flags: u16) -> Packet {
        self.flags = (u16::from_be_bytes(self.flags) | flags).to_be_bytes();
        self
    }

    /// A record in section 0 (answer), 1 (authority) or 2 (additional).
    pub fn record(mut self, section: usize, octets: &[u8]) -> Packet {
        self.records[section].push(octets.into());
        self
    }

    /// An OPT record: payload, extended code, version, flags.
    pub fn opt(self, payload: u16, version: u8, flags: u16, options: &[u8]) -> Packet {
        self.record(2, &opt(payload, version, flags, options))
    }

    /// An OPT record with nothing unusual but its options.
    pub fn options(self, options: &[u8]) -> Packet {
        self.opt(1232, 0, 0, options)
    }

    pub fn claim(mut self, section: usize, count: u16) -> Packet {
        self.claimed[section] = Some(count);
        self
    }

    pub fn tail(mut self, octets: &[u8]) -> Packet {
        self.tail = octets.into();
        self
    }

    pub fn octets(&self, id: u16) -> Vec<u8> {
        let lists = [&self.questions, &self.records[0], &self.records[1], &self.records[2]];
        let mut octets = [id.to_be_bytes(), self.flags].concat();
        for (list, claimed) in lists.iter().zip(self.claimed) {
            octets.extend(claimed.unwrap_or(list.len() as u16).to_be_bytes());
        }
        octets.extend(lists.into_iter().flatten().flatten());
        octets.extend(&self.tail);
        octets
    }
}

/// An OPT record.
pub fn opt(payload: u16, version: u8, flags: u16, options: &[u8]) -> Vec<u8> {
    let fixed = [&[0, 0, 41][..], &payload.to_be_bytes(), &[0, version], &flags.to_be_bytes()].concat();
    [&fixed[..], &(options.len() as u16).to_be_bytes(), options].concat()
}

/// An EDNS option.
pub fn option(code: u16, data: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

/// A record with an owner, in class IN unless it says otherwise.
pub fn record(owner: &[u8], rtype: u16, class: u16, ttl: u32, rdata: &[u8]) -> Vec<u8> {
    let head = [owner, &rtype.to_be_bytes(), &class.to_be_bytes(), &ttl.to_be_bytes()].concat();
    [&head[..], &(rdata.len() as u16).to_be_bytes(), rdata].concat()
}

/// The data of a TSIG record with a MAC of 32 octets, by hmac-sha256.
pub fn tsig_rdata(original_id: u16) -> Vec<u8> {
    let mut rdata = b"\x0bhmac-sha256\0".to_vec();
    rdata.extend([0, 0, 0x65, 0, 0, 0, 1, 0x2c, 0, 32]);
    rdata.extend([0xAB; 32]);
    rdata.extend(original_id.to_be_bytes());
    rdata.extend([0, 0, 0, 0]);
    rdata
}

/// A TSIG record by a key that nobody knows.
pub fn tsig() -> Vec<u8> {
    record(b"\x07unknown\x03key\0", 250, 255, 0, &tsig_rdata(0))
}

/// A name of 127 labels, of which all but the last are one octet each: `a.a. … .a.example.` is as long as names get.
pub fn labels(last: &[u8], count: usize) -> Vec<u8> {
    [b"\x01a".repeat(count), last.to_vec()].concat()
}
