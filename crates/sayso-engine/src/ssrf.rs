//! The SSRF filter: decides which addresses may be called. Pure: an address is judged, never a name, so no name and
//! no spelling of a number slips through.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks that may be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NetworkScope {
    /// Public addresses only.
    #[default]
    Public,
    /// Also this machine and its private networks.
    Private,
}

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Public,
    /// This machine, or a private network.
    Private(&'static str),
    /// An address that is never called: cloud metadata services, or an unassigned one.
    Never(&'static str),
}

/// Cloud metadata services that hand out a machine's credentials, beyond the link-local ones.
const METADATA_V4: [Ipv4Addr; 2] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

impl NetworkScope {
    /// Returns the reason for which this address must not be called, or none if it may be.
    pub fn refuses(self, address: IpAddr) -> Option<&'static str> {
        match (place(address), self) {
            (AddressClass::Public, _) | (AddressClass::Private(_), NetworkScope::Private) => None,
            (AddressClass::Private(what), NetworkScope::Public)
            | (AddressClass::Never(what), _) => Some(what),
        }
    }
}

fn place(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(v4) => place_v4(v4),
        IpAddr::V6(v6) => match inner(v6) {
            Some(v4) => match place_v4(v4) {
                // It may be tunnelled to a public address, but not by us.
                AddressClass::Public if v6.to_ipv4_mapped().is_none() => {
                    AddressClass::Never("a tunnel")
                }
                place => place,
            },
            None => place_v6(v6),
        },
    }
}

fn place_v4(v4: Ipv4Addr) -> AddressClass {
    let [a, b, c, _] = v4.octets();
    match (a, b, c) {
        _ if METADATA_V4.contains(&v4) => AddressClass::Never("a metadata service"),
        (0, ..) => AddressClass::Never("no address of a machine"),
        (169, 254, _) => AddressClass::Never("link-local, where metadata services are"),
        (224.., ..) => AddressClass::Never("no address of one machine"),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => {
            AddressClass::Never("an address for examples")
        }
        (127, ..) => AddressClass::Private("this machine"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => AddressClass::Private("a private network"),
        (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => {
            AddressClass::Private("a shared network")
        }
        _ => AddressClass::Public,
    }
}

fn place_v6(v6: Ipv6Addr) -> AddressClass {
    let [first, second, ..] = v6.segments();
    match first {
        _ if v6 == METADATA_V6 => AddressClass::Never("a metadata service"),
        _ if v6.is_unspecified() => AddressClass::Never("no address of a machine"),
        _ if v6.is_loopback() => AddressClass::Private("this machine"),
        0xfe80..=0xfebf => AddressClass::Never("link-local"),
        0xff00..=0xffff => AddressClass::Never("no address of one machine"),
        0xfc00..=0xfdff | 0xfec0..=0xfeff => AddressClass::Private("a private network"),
        0x2001 if second == 0xdb8 => AddressClass::Never("an address for examples"),
        0x2000..=0x3fff => AddressClass::Public,
        _ => AddressClass::Never("an address that is not in use"),
    }
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64), or tunnelled
/// (6to4, Teredo).
fn inner(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = v6.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Some(of(high, low))
        }
        [0x64, 0xff9b, .., high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [0x2001, 0, .., high, low] => Some(of(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn which_addresses_may_be_called() {
        let table = [
            (
                "public",
                "1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.63.0.1 192.169.0.1 223.255.255.1",
            ),
            ("public", "2606:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8"),
            ("private", "127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1"),
            ("private", "100.64.0.1 198.18.0.1 192.0.0.1 ::1 fd12::1 fc00::1 fec0::1"),
            ("private", "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 ::ffff:0:10.0.0.1"),
            ("private", "64:ff9b::10.0.0.1 2002:7f00:1:: 2002:a00:1::1"),
            ("never", "0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 255.255.255.255 224.0.0.1"),
            ("never", "168.63.129.16 100.100.100.200 fd00:ec2::254 203.0.113.7 192.0.2.1"),
            ("never", ":: fe80::1 ff02::1 2001:db8::1 ::ffff:169.254.169.254 ::169.254.169.254"),
            ("never", "64:ff9b::169.254.169.254 2002:a9fe:a9fe:: 64:ff9b::8.8.8.8 4000::1 100::1"),
            ("never", "2001:0:1:2:3:4:5601:5601"),
        ];
        let mut looked = 0;
        for (expected, addresses) in table {
            for text in addresses.split(' ') {
                let address: IpAddr = text.parse().unwrap();
                let public = NetworkScope::Public.refuses(address).is_none();
                let private = NetworkScope::Private.refuses(address).is_none();
                let found = match (public, private) {
                    (true, true) => "public",
                    (false, true) => "private",
                    (false, false) => "never",
                    (true, false) => "upside down",
                };
                assert_eq!(found, expected, "{text}");
                looked += 1;
            }
        }
        assert_eq!(looked, 53);
    }
}
