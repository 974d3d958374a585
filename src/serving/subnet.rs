//! The client subnet that a resolver names (RFC 7871): whose question it passes on, and for whom the answer is good.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::{ClientNet, Network};

/// Address families (RFC 7871 §6).
const IPV4: u16 = 1;
const IPV6: u16 = 2;
/// Family, source and scope prefix length.
const FIXED: usize = 4;

/// A client subnet as it came in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet<'p> {
    data: &'p [u8],
    network: Option<Network>,
}

impl<'p> Subnet<'p> {
    /// Reads the data of the option. `None`: it is malformed (RFC 7871 §6, §7.1.2): a family that there is not, more bits
    /// than it has, more or fewer octets than the prefix needs, bits set behind it, or a scope, which only answers have.
    pub fn read(data: &'p [u8]) -> Option<Subnet<'p>> {
        let (&[high, low, source, scope], address) = data.split_first_chunk::<FIXED>()?;
        if scope != 0 || address.len() != usize::from(source).div_ceil(8) {
            return None;
        }
        let mut octets = [0; 16];
        octets.get_mut(..address.len())?.copy_from_slice(address);
        let whole = match u16::from_be_bytes([high, low]) {
            // Nobody's address is told of no family, as `dig +subnet=0` has it.
            0 if source == 0 => return Some(Subnet { data, network: None }),
            IPV4 => {
                let [a, b, c, d, ..] = octets;
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            IPV6 => IpAddr::V6(Ipv6Addr::from(octets)),
            _ => return None,
        };
        let network = Network::new(whole, source).filter(|network| network.address() == whole)?;
        // A client that does not want its address used is answered as the resolver is (RFC 7871 §7.1.2).
        Some(Subnet { data, network: Some(network).filter(|_| source > 0) })
    }

    /// Whose question it is; none if that is not to be used.
    pub fn client(&self) -> Option<ClientNet> {
        self.network.map(ClientNet)
    }

    /// What goes into the answer, with how many bits of the address it is good for in between.
    pub fn echo(&self) -> ([u8; 3], &'p [u8]) {
        let mut front = [0; 3];
        front.copy_from_slice(&self.data[..3]);
        (front, &self.data[FIXED..])
    }

    /// How many octets the option's data have.
    pub fn len(&self) -> usize {
        self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_are_read_strictly() {
        for (data, client) in [
            (&[0, 1, 24, 0, 192, 0, 2][..], Some("192.0.2.0/24")),
            (&[0, 1, 32, 0, 192, 0, 2, 1], Some("192.0.2.1/32")),
            (&[0, 1, 20, 0, 192, 0, 0xF0], Some("192.0.240.0/20")),
            (&[0, 2, 48, 0, 0x20, 1, 0xd, 0xb8, 0, 0xe], Some("2001:db8:e::/48")),
            (&[0, 1, 0, 0], None),
            (&[0, 2, 0, 0], None),
            (&[0, 0, 0, 0], None),
        ] {
            let subnet = Subnet::read(data).unwrap_or_else(|| panic!("{data:?}"));
            assert_eq!(subnet.client().map(|client| client.0.to_string()).as_deref(), client);
            assert_eq!(
                (subnet.echo().0, subnet.echo().1, subnet.len()),
                ([0, data[1], data[2]], &data[4..], data.len())
            );
        }
        for wrong in [
            &[][..],
            &[0, 1, 24],
            &[0, 1, 24, 0],                  // no address
            &[0, 1, 24, 0, 192, 0],          // an octet too few
            &[0, 1, 24, 0, 192, 0, 2, 0],    // one too many
            &[0, 1, 23, 0, 192, 0, 3],       // a bit behind the prefix
            &[0, 1, 24, 24, 192, 0, 2],      // a scope
            &[0, 1, 33, 0, 192, 0, 2, 0, 0], // more bits than there are
            &[0, 3, 8, 0, 1],                // no family that we know
            &[0, 0, 8, 0, 1],
            &[0, 0, 0, 0, 1],
        ] {
            assert_eq!(Subnet::read(wrong), None, "{wrong:?}");
        }
        let long = [&[0, 2, 129, 0][..], &[0; 17]].concat();
        assert_eq!(Subnet::read(&long), None);
    }
}
