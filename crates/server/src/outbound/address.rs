//! Which addresses belong to the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are not public, as address and length of the prefix.
const CLOSED_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8),      // this network; 0.0.0.0 is this machine
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // shared by carriers; a cloud's metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8), // this machine
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a cloud's own services, in a public range
    (Ipv4Addr::new(169, 254, 0, 0), 16), // this link; a cloud's metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocols; a cloud's metadata
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24), // relays of 6to4, no longer in use
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // measurements
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved; broadcast
];

/// What is public in IPv6, unless it is closed: everything else is loopback, unspecified, mapped
/// IPv4, unique local, link-local, site-local, multicast or not given out.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ranges within it that are not public.
const CLOSED_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocols; Teredo carries an IPv4 address
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4 carries an IPv4 address
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Translated IPv4, which a network without IPv4 has for every public address.
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Tells whether an address belongs to the public Internet: not to this machine, its networks, the
/// cloud it runs in, or a range that leads back to one of those.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !CLOSED_V4.iter().any(|range| holds_v4(*range, address)),
        IpAddr::V6(address) if holds_v6(TRANSLATED, address) => {
            let [.., a, b, c, d] = address.octets();
            is_public(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
        IpAddr::V6(address) => {
            holds_v6(GLOBAL_V6, address) && !CLOSED_V6.iter().any(|range| holds_v6(*range, address))
        }
    }
}

fn holds_v4((base, length): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (base.to_bits() ^ address.to_bits()).leading_zeros() >= length
}

fn holds_v6((base, length): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (base.to_bits() ^ address.to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last address of each closed range, and the neighbours that are open.
    const CLOSED: &[(&str, &str)] = &[
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("100.100.100.200", "100.100.100.200"),
        ("127.0.0.0", "127.255.255.255"),
        ("168.63.129.16", "168.63.129.16"),
        ("169.254.0.0", "169.254.255.255"),
        ("169.254.169.254", "169.254.170.2"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.0.192", "192.0.0.192"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "239.255.255.255"),
        ("240.0.0.0", "255.255.255.255"),
        ("::", "::1"),
        ("::127.0.0.1", "::8.8.8.8"),
        ("::ffff:0.0.0.0", "::ffff:127.0.0.1"),
        ("::ffff:10.0.0.1", "::ffff:8.8.8.8"),
        ("64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254"),
        ("64:ff9b::127.0.0.1", "64:ff9b::0.0.0.0"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
        ("100::", "100::ffff:ffff:ffff:ffff"),
        ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "1000::"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002:7f00:1::", "2002:a00:1::1"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "5f00::1"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fd00:ec2::254", "fd20:ce::254"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ];
    const OPEN: &[&str] = &[
        "1.0.0.0",
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "64:ff9b::8.8.8.8",
        "2000::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "2606:4700:4700::1111",
        "3ffe:ffff::1",
        "3fff:1000::",
    ];

    #[test]
    fn every_range_ends_where_it_should() {
        for (first, last) in CLOSED {
            for text in [first, last] {
                let address: IpAddr = text.parse().unwrap();
                assert!(!is_public(address), "{text}");
            }
        }
        for text in OPEN {
            let address: IpAddr = text.parse().unwrap();
            assert!(is_public(address), "{text}");
        }
    }

    #[test]
    fn what_the_library_calls_special_is_never_public() {
        // Every /16 of IPv4, at its two ends.
        for high in 0..=u16::MAX {
            for low in [0_u32, 1, 0xffff] {
                let address = Ipv4Addr::from_bits(u32::from(high) << 16 | low);
                let special = address.is_private()
                    || address.is_loopback()
                    || address.is_link_local()
                    || address.is_multicast()
                    || address.is_unspecified()
                    || address.is_broadcast()
                    || address.is_documentation();
                assert!(!(special && is_public(address.into())), "{address}");
                let mapped = address.to_ipv6_mapped();
                assert!(!is_public(mapped.into()), "{mapped}");
            }
        }
    }
}
