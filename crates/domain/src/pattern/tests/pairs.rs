//! Pairs of patterns whose answer was worked out by hand.

use super::super::LiteralPath;
use super::pattern;

#[test]
fn every_pair_has_the_answer_that_was_worked_out_by_hand() {
    assert!(YES.len() + NO.len() >= 120);
    let yes = YES.iter().map(|pair| (pair, true));
    let all = yes.chain(NO.iter().map(|pair| (pair, false)));
    let wrong: Vec<_> = all
        .filter(|&(&(left, right), answer)| {
            let [a, b] = [left, right].map(pattern);
            a.overlaps(&b) != answer || b.overlaps(&a) != answer
        })
        .collect();
    assert_eq!(wrong, []); // F12
}

const YES: [(&str, &str); 97] = [
    // Paths cover what is below them.
    ("a", "a"),
    ("a", "a/b"),
    ("a/", "a"),
    ("src/lib.rs", "src"),
    ("a/b/c", "a"),
    ("./a//b/.", "a/b"),
    // A path covers what is below it, so a name that it does not have can be there.
    ("src/main.rs", "**/*.md"),
    ("a", "*/b"),
    ("a", "?/?/?"),
    ("a", "**/b/b/b"),
    ("a.b", "*.b"),
    ("a/*", "a"),
    ("*ab*", "a?"),
    ("*aa*", "?a?b"),
    ("**/a/**/b/**", "?/b/[a]"),
    ("a/**/b", "a"),
    ("src/*/", "src"),
    ("foo{,.bak}", "foo.ba?"),
    // Stars.
    ("*", "a"),
    ("*", "?"),
    ("*", "*"),
    ("*.rs", "lib.rs"),
    ("*.rs", ".rs"),
    ("*.rs", "lib*"),
    ("lib*", "*lib"),
    ("a*b", "ab"),
    ("a*b", "*ba*"),
    ("a*a", "aa"),
    ("*a*b*", "b*a"),
    ("*ab*", "a?b*"),
    ("a*b*c", "*bb*"),
    ("*a?", "?a*"),
    ("a*", "ab*c"),
    ("ab*", "*bc"),
    (".*", "*"),
    ("*", ".gitignore"),
    ("a?c", "ab*"),
    ("??", "*é"),
    ("*.tar.gz", "*.gz"),
    // Two stars.
    ("**", "a"),
    ("**", "**"),
    ("**", "*"),
    ("a/**", "a"),
    ("a/**", "a/b/c"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x/y/b"),
    ("a/**/b", "a/b/**"),
    ("**/a", "a/**"),
    ("**/a", "b/**"),
    ("a/a/a/**", "**/b/b/b"),
    ("**/x", "**/y/**"),
    ("**/a/**", "*/a/*"),
    ("**/a/**", "b/**/c"),
    ("**/a/**/b/**", "x/a/y/b/z"),
    ("**/a/b/**", "a/a/b/?"),
    ("**/a/a/b/**", "?/a/a/a/b/*"),
    ("a/**/b/**/c", "a/?/?/c"),
    ("**/*.rs", "src/**/*.rs"),
    ("**/*.rs", "src/*.rs"),
    ("**/*.rs", "*.rs"),
    ("**/test/**", "src/**"),
    ("a/**/b", "**/a/b"),
    ("*/**", "a"),
    ("**/*", "a"),
    ("**/a/**/a", "**/a/**/a/**/a"),
    ("a/**/", "a"),
    ("**/**", "a/b"),
    // A slash at the end.
    ("src/*/", "src/a/b/c"),
    ("src/*/", "src/a"),
    ("src/*/", "src/*/*/x"),
    ("a?/", "ab/**/c"),
    ("*/", "**/x/y/z"),
    // Classes.
    ("[a-c]", "b"),
    ("[a-c]", "[c-e]"),
    ("[!a]", "b"),
    ("[!a]", "[!b]"),
    ("[!a-y]", "[x-z]"),
    ("[!a]x", "bx"),
    ("[\\]]", "]"),
    ("[\\-a]", "-"),
    ("[a-]", "-"),
    ("[a!]", "!"),
    ("[é]", "e\u{301}"),
    ("x[0-9]*", "x7"),
    ("*[0-9]", "v1*"),
    ("[!-~]", "+"),
    // Alternatives.
    ("{a,b}", "b"),
    ("{a,b}", "{b,c}"),
    ("foo{,.bak}", "foo"),
    ("foo{,.bak}", "foo.bak"),
    ("*.{rs,toml}", "Cargo.toml"),
    ("{a*,*b}", "{*c,d*}"),
    ("{a,ab}{c,bc}", "abbc"),
    ("{a,b}{a,b}{a,b}", "?ab"),
    ("{,a}", "*"),
    ("{x[0-9],y?}", "y7"),
    ("src/{a,b}/**", "**/b/c"),
];

const NO: [(&str, &str); 75] = [
    // Paths.
    ("a", "b"),
    ("a", "ab"),
    ("a/b", "a/c"),
    ("a/b", "ab"),
    ("a", "A"),
    ("src", "src.rs"),
    ("a/b", "b"),
    // A pattern with a metacharacter covers only what it matches.
    ("*", "a/b"),
    ("a/*", "a/b/c"),
    ("a/b*", "a/c"),
    ("?", "ab"),
    ("*.rs", "src/lib.rs"),
    ("*.rs", "lib.rs/x"),
    ("{a,b}", "a/x"),
    ("[a]", "a/x"),
    ("*", "*/*"),
    ("a/*", "[a]"),
    ("*/*", "*"),
    // Stars.
    ("*.rs", "*.md"),
    ("a*", "b*"),
    ("a*", "*b/c"),
    ("*.rs", "Cargo.toml/"),
    ("a*a", "a/b"),
    ("a*a", "a"),
    ("aba*aba", "ababa"),
    ("ab*ba", "[a]b[a]"),
    ("a*b*c", "a?d"),
    ("*ab*", "b?"),
    ("*aa*", "[!a]a[b-z]a"),
    ("*a*b*", "b?"),
    ("a?b", "a*/b"),
    ("???", "a?"),
    ("*.tar.gz", "*.tar.xz"),
    ("lib*.rs", "lib.r"),
    ("??", "é/x"),
    ("??", "[é]"),
    // Two stars.
    ("a/**", "b/**"),
    ("a/**", "ab"),
    ("a/**/b", "a/c?"),
    ("a/**/b", "a/*/c"),
    ("**/a", "**/b"),
    ("**/*.rs", "**/*.md"),
    ("**/a/**", "?b/c*"),
    ("**/a/b/**", "a/*b*b/b?"),
    ("**/a/**/a/**", "[a]/b?"),
    ("**/a/**/b/**", "b?/b/[a]"),
    ("**/a/a/**", "a/b?/a/b?"),
    ("a/**/b", "[a]"),
    ("x/**/*.rs", "y/**/*.rs"),
    ("src/**/a.rs", "src/**/b.rs"),
    ("src/*/", "sr[c]"),
    ("src/*/", "lib/a"),
    // Classes.
    ("[a-c]", "d"),
    ("[a-c]", "[d-f]"),
    ("[!a]", "a"),
    ("[!a-z]", "[b-y]"),
    ("[!a]", "[a]"),
    ("[! -\u{10ffff}]", "**"),
    ("[! -\u{10ffff}]", "[! -\u{10ffff}]"),
    ("{x[! -\u{10ffff}],b}", "x*"),
    ("[!\\!]", "!"),
    ("x[0-9]*", "xy*"),
    ("[a]b", "[!a]?"),
    // Alternatives.
    ("{a,b}", "c"),
    ("{a,b}", "{c,d}"),
    ("foo{,.bak}", "foo.b?"),
    ("*.{rs,toml}", "*.{md,txt}"),
    ("{,a}", "{,b}"),
    ("{,}", "*"),
    ("{}", "**"),
    ("{a,ab}{c,bc}", "a{b,bb}"),
    ("{a,b}{a,b}", "[ab]"),
    ("a{b,c}d", "a{b,c}"),
    // Escapes.
    ("\\*", "a"),
    ("app/\\[id\\]", "app/i"),
];

#[test]
fn a_path_is_covered_itself_or_only_what_could_be_below_it() {
    for (pattern, path, covered) in [
        ("src", "src/a.rs", true),
        ("src/a.rs", "src/a.rs", true),
        ("src/a.rs/b", "src/a.rs", false),
        ("**/*.rs", "src/a.rs", true),
        ("**/*.rs", "README", false),
        ("**", "README", true),
        ("app/*/page.tsx", "app/[id]/page.tsx", true),
        ("*/b", "a", false),
        ("{a,b}/", "b/c/d", true),
    ] {
        let read: LiteralPath = serde_json::from_value(path.into()).expect(path);
        let pattern = self::pattern(pattern);
        assert_eq!(pattern.covers(&read), covered, "{pattern} {path}");
        assert!(pattern.overlaps(read.pattern()), "{pattern} {path}");
    }
}
