//! What the built-in embedder finds near and what not, and that it stays what it is.

use sha2::{Digest as _, Sha256};

use super::*;
use crate::token::to_hex;

fn near(a: &str, b: &str) -> f64 {
    embed(a).cosine(&embed(b)).unwrap()
}

/// Findings as agents write them.
const FINDINGS: [&str; 10] = [
    "Connection pool runs dry under load\nWhen more than 40 workers start together, the pool of database connections is empty for several seconds and requests time out with error 503.",
    "New release of the HTTP router allows nested fallback handlers\nVersion 0.9 brings fallbacks per subtree, so that every mounted service can answer unknown paths in its own words.",
    "Paper: approximate nearest neighbours with product quantisation on small machines\nThe authors compress embeddings to 16 bytes each and report recall of 0.97 on a million documents.",
    "Flaky test in checkout: the total differs by one cent\nRounding happens per line item in the cart, but per order in the invoice; with three items of 3.33 the sums disagree.",
    "Customers ask for dark mode in the mobile app\nSeventeen tickets of the last month mention bright screens at night, most of them from drivers.",
    "Security advisory: path traversal in archive extraction\nEntries whose names hold `..` are written outside of the target directory; upgrade before unpacking uploads of strangers.",
    "Kubernetes nodes evict the indexer because of memory\nThe limit of 512 MiB was set in spring, the working set has grown to 700 MiB since the language models were added.",
    "Idea: cache thumbnails by content hash\nThe same photograph is resized up to nine times a day, although nothing but its address changed.",
    "Der Bericht zur Barrierefreiheit nennt fehlende Beschriftungen\nAcht Formulare haben Felder ohne sichtbaren Namen, zwei davon im Kassenbereich.",
    "Compiler 1.95 warns about hidden lifetimes in public signatures\nAbout sixty places of our crates need an explicit marker; an automatic fix exists for most of them.",
];

#[test]
fn nearly_the_same_words_are_near() {
    let twins = [
        (
            FINDINGS[0],
            "Connection pool runs dry under load!\nWhen more than 40 workers start together the pool of database connections is empty for several seconds, and requests time out with an error 503",
        ),
        (
            FINDINGS[1],
            "NEW RELEASE of the HTTP router: allows nested fallback handlers\nVersion 0.9 brings fallbacks per subtree so every mounted service can answer unknown paths in its own words.",
        ),
        (
            FINDINGS[5],
            "Security Advisory - path traversal in archive extraction\nEntries whose names hold \"..\" are written outside the target directory; upgrade before you unpack uploads of strangers.",
        ),
        (
            FINDINGS[8],
            "Der Bericht zur Barrierefreiheit nennt fehlende Beschriftungen\nAcht Formulare haben Felder ohne einen sichtbaren Namen, zwei davon im Kassenbereich",
        ),
    ];
    for (one, other) in twins {
        let near = near(one, other);
        assert!(near > 0.9, "{near}: {one} / {other}");
    }
}

#[test]
fn other_findings_are_far() {
    for (at, one) in FINDINGS.iter().enumerate() {
        for other in FINDINGS.iter().skip(at + 1) {
            let near = near(one, other);
            assert!(near < 0.3, "{near}: {one} / {other}");
        }
    }
}

#[test]
fn a_number_makes_a_difference() {
    let one = near("Release 1.4.2 of the router", "Release 1.4.3 of the router");
    let same = near("Release 1.4.2 of the router", "release 1.4.2 of the Router");
    assert!(one < 0.95 && same > 0.999_999, "{one} {same}");
}

#[test]
fn every_text_has_a_vector() {
    for text in [
        "",
        " ",
        "!!!",
        "🦀",
        "\0",
        "a",
        "\u{202e}",
        &"word ".repeat(20_000),
    ] {
        let vector = embed(text);
        assert_eq!(vector.dimension(), DIMENSION);
        assert!(
            Embedding::new(vector.components().to_vec()).is_ok(),
            "{text:?}"
        );
    }
    assert!(near("🦀", "🚀") < 0.5);
}

/// Bytes that were made once and must come out for ever.
#[test]
fn the_vectors_stay_what_they_are() {
    let digest = |text: &str| {
        let hash: [u8; 32] = Sha256::digest(embed(text).to_le_bytes()).into();
        to_hex(&hash).chars().take(16).collect::<String>()
    };
    let digests: Vec<_> = FINDINGS.iter().map(|text| digest(text)).collect();
    let wanted = [
        "460136c17a6127aa",
        "6dba2efc829792aa",
        "95e4e7f12e57b103",
        "fef1e6b3787765c5",
        "02577be1ea3e74d1",
        "ad8cffabd95e5e5f",
        "dd3538ffa7541fa7",
        "778d5c68ac2095ce",
        "57777a026e58fa11",
        "3258eba251b12189",
    ];
    assert_eq!(digests, wanted);
    // These were computed by another program.
    let blue = embed("blue");
    let places = blue.components().iter().zip(0_usize..);
    let places = places.filter(|(number, _)| **number != 0.0);
    let places: Vec<_> = places.map(|(number, at)| (at, number.to_bits())).collect();
    assert_eq!(
        places,
        [
            (80, 0x3dea_3ce1),
            (85, 0xbdea_3ce1),
            (161, 0x3f73_ff6a),
            (170, 0x3dea_3ce1),
            (225, 0xbdea_3ce1),
            (259, 0x3dea_3ce1),
            (274, 0xbdea_3ce1),
            (323, 0xbdea_3ce1)
        ]
    );
}
