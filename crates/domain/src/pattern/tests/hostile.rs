//! What is refused, with the rule it breaks, and what looks like it but is not.

use super::super::rule::{BadPattern, Rule};
use super::Pattern;

#[test]
fn hostile_patterns_are_refused_by_the_rule_they_break() {
    let long = [
        ("a/".repeat(65), Rule::Segments),
        ("?".repeat(17), Rule::Wildcards),
        ("**/a/".repeat(17), Rule::Wildcards),
        ("[a]".repeat(17), Rule::Wildcards),
        ("{a,b}".repeat(17), Rule::Alternatives),
        (format!("{{{}}}", "a,".repeat(32)), Rule::Alternatives),
        ("a".repeat(256), Rule::ComponentBytes),
        ("é".repeat(128), Rule::ComponentBytes),
        (format!("{}*", "a".repeat(255)), Rule::ComponentBytes),
        (format!("{{a,{}}}", "b".repeat(256)), Rule::ComponentBytes),
        (format!("*{}", "/aaaaaaaaa".repeat(52)), Rule::PatternBytes),
        (format!("*{}", "/.".repeat(260)), Rule::PatternBytes),
        (format!("[{}]", "-".repeat(600)), Rule::ClassMember),
        ("*".repeat(65_536), Rule::PatternBytes),
        ("{".repeat(65_536), Rule::PatternBytes),
        ("a/".repeat(32_768), Rule::PatternBytes),
        (format!("a{}", "/b".repeat(4_000)), Rule::Segments),
        (long_path(4_100), Rule::PathBytes),
    ];
    let short = SHORT.iter().map(|&(text, rule)| (text.to_owned(), rule));
    assert!(SHORT.len() + long.len() >= 60);
    for (text, rule) in short.chain(long) {
        let refusal = Pattern::parse(&text).map(|pattern| pattern.to_string());
        let start: String = text.chars().take(40).collect();
        assert_eq!(refusal, Err(BadPattern(rule)), "{start:?}"); // F12 S4 S7
    }
}

const SHORT: [(&str, Rule); 80] = [
    ("", Rule::Empty),
    (".", Rule::Empty),
    ("./", Rule::Empty),
    (".//./.", Rule::Empty),
    ("/", Rule::Absolute),
    ("/etc/passwd", Rule::Absolute),
    ("//server/share", Rule::Absolute),
    ("/**", Rule::Absolute),
    ("..", Rule::Parent),
    ("../a", Rule::Parent),
    ("a/../b", Rule::Parent),
    ("a/..", Rule::Parent),
    ("a/../", Rule::Parent),
    ("**/..", Rule::Parent),
    ("./..", Rule::Parent),
    ("~", Rule::Home),
    ("~/a", Rule::Home),
    ("~root/a", Rule::Home),
    ("./~/a", Rule::Home),
    ("~*", Rule::Home),
    ("C:", Rule::Drive),
    ("C:/a", Rule::Drive),
    ("c:\\a", Rule::Drive),
    ("C:\\Users\\me", Rule::Drive),
    ("C:\\\\a", Rule::Drive),
    ("C:\\*", Rule::Drive),
    ("./c:/a", Rule::Drive),
    ("z:/**", Rule::Drive),
    ("a\0", Rule::Control),
    ("\0", Rule::Control),
    ("a\nb", Rule::Control),
    ("a\tb", Rule::Control),
    ("\u{1b}[2J", Rule::Control),
    ("a\u{7f}", Rule::Control),
    ("a\u{85}b", Rule::Control),
    ("[\u{1}-\u{5}]", Rule::Control),
    ("[a\u{9f}]", Rule::Control),
    ("a**", Rule::DoubleStar),
    ("**a", Rule::DoubleStar),
    ("**.rs", Rule::DoubleStar),
    ("***", Rule::DoubleStar),
    ("a/***/b", Rule::DoubleStar),
    ("****", Rule::DoubleStar),
    ("a/**b/c", Rule::DoubleStar),
    ("{**,a}", Rule::DoubleStar),
    ("{a**}", Rule::DoubleStar),
    ("?**", Rule::DoubleStar),
    ("**{a,b}", Rule::DoubleStar),
    ("[", Rule::ClassOpen),
    ("a[", Rule::ClassOpen),
    ("[a", Rule::ClassOpen),
    ("[!", Rule::ClassOpen),
    ("[a-", Rule::ClassOpen),
    ("[]", Rule::ClassEmpty),
    ("[!]", Rule::ClassEmpty),
    ("[]a]", Rule::ClassEmpty),
    ("[z-a]", Rule::ClassReversed),
    ("[a-Z]", Rule::ClassReversed),
    ("[a/b]", Rule::ClassSlash),
    ("[+-/]", Rule::ClassSlash),
    ("[a/b", Rule::ClassSlash),
    ("[^a]", Rule::ClassCaret),
    ("[^]", Rule::ClassCaret),
    ("[[:alpha:]]", Rule::ClassMember),
    ("[a-c-e]", Rule::ClassMember),
    ("[\\a]", Rule::ClassEscape),
    ("[\\", Rule::ClassEscape),
    ("[\\/]", Rule::ClassEscape),
    ("{a", Rule::BracesOpen),
    ("{", Rule::BracesOpen),
    ("{a,b", Rule::BracesOpen),
    ("}", Rule::BracesClose),
    ("a}b", Rule::BracesClose),
    ("{a,{b,c}}", Rule::BracesNested),
    ("{a/b,c}", Rule::BracesSlash),
    ("{a,b/", Rule::BracesSlash),
    ("a\\", Rule::Escape),
    ("a\\b", Rule::Escape),
    ("src\\main.rs", Rule::Escape),
    ("a\\/b", Rule::Escape),
];

#[test]
fn unusual_patterns_are_patterns() {
    let long = [
        "?".repeat(16),
        "{a,b}".repeat(16),
        "a".repeat(255),
        format!("a{}", "/b".repeat(63)),
        long_path(4_096),
        "\\*".repeat(255),
        format!("*{}", "/aaaaaaaaa".repeat(51)),
        format!("{{{0},{0}b,{0}c}}.rs", "a".repeat(150)),
    ];
    let short = [
        "a]",
        "a,b",
        "!a",
        "a!",
        "-",
        "^",
        "a:b",
        "ab:/c",
        "a~",
        "a/~",
        "...",
        "..a",
        "a..",
        ".a",
        " ",
        "a b",
        "$HOME",
        "%2e%2e",
        "[~]a",
        "{~,a}",
        "{}",
        "{,}",
        "[!!]",
        "[!^]",
        "[-]",
        "[a-]",
        "[--0]",
        "\\[a\\]",
        "\\{",
        "\\!",
        "a/\\*",
        "\u{202e}a",
        "\u{feff}",
        "\u{10ffff}",
        "{[},],a}",
        "*{a}*",
    ];
    for text in short.iter().map(|text| (*text).to_owned()).chain(long) {
        let read = Pattern::parse(&text);
        let again = read.as_ref().map(|read| Pattern::parse(read.as_str()));
        assert_eq!(again, Ok(read.clone()), "{text:?}"); // F12
    }
}

#[test]
fn paths_have_the_rules_of_paths_only() {
    let long = "a".repeat(256);
    let (deep, far) = ("a/".repeat(65), long_path(4_097));
    for (path, rule) in [
        ("", Rule::Empty),
        ("./", Rule::Empty),
        ("/a", Rule::Absolute),
        ("a/../b", Rule::Parent),
        ("~/a", Rule::Home),
        ("C:", Rule::Drive),
        ("C:\\a", Rule::Drive),
        ("c:/a", Rule::Drive),
        ("a\0b", Rule::Control),
        ("a\rb", Rule::Control),
        (long.as_str(), Rule::ComponentBytes),
        (deep.as_str(), Rule::Segments),
        (far.as_str(), Rule::PathBytes),
    ] {
        let refusal = Pattern::literal(path).map(|pattern| pattern.to_string());
        assert_eq!(refusal, Err(BadPattern(rule)), "{path:?}"); // F12
    }
    let stars = "*".repeat(255);
    for path in [
        "app/[id]/page.tsx",
        "a**",
        "{",
        "}",
        "a\\b",
        "[z-a]",
        "!",
        "\\\\x",
        &stars,
    ] {
        let literal = Pattern::literal(path).expect(path);
        assert_eq!(literal.path().as_deref(), Some(path)); // F12
        assert_eq!(Pattern::parse(literal.as_str()), Ok(literal));
    }
}

#[test]
fn a_refusal_is_a_rule_and_never_shows_the_input() {
    for (text, rule) in SHORT {
        let message = BadPattern(rule).to_string();
        assert!(message.starts_with("must "), "{message}");
        assert!(!message.ends_with('.') && message.len() < 120, "{message}");
        let is_shown = text.len() > 7 && message.contains(text);
        assert!(!is_shown, "{message}");
    }
    let message = |rule| BadPattern(rule).to_string();
    assert_eq!(message(Rule::PatternBytes), "must have at most 512 bytes");
    assert_eq!(
        message(Rule::Parent),
        "must not leave the project: `..` is not allowed"
    );
}

/// Makes a path of so many bytes with components that are not too long.
fn long_path(bytes: usize) -> String {
    let path = format!("{}/", "a".repeat(99)).repeat(bytes / 100 + 1);
    let mut path: String = path.chars().take(bytes - 1).collect();
    path.push('b');
    path
}
