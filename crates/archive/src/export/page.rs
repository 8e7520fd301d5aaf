//! What every page has in common.

use super::escape::html;

/// What the pages look like.
pub(super) const STYLE: &str = include_str!("style.css");

/// Searches what `words.js` says.
pub(super) const SEARCH: &str = include_str!("search.js");

/// Nothing is loaded but what lies beside the page, and nothing in a page is run (S14).
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'none'; \
                      base-uri 'none'; form-action 'none'";

/// Begins a page; `way` leads back from it and is HTML already.
pub(super) fn head(title: &str, way: &str) -> String {
    let title = html(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n\
         </head>\n<body>\n{way}<h1><bdi>{title}</bdi></h1>\n"
    )
}

/// The end of a page.
pub(super) const FOOT: &str = "</body>\n</html>\n";

/// Links the pages of something that has several; `name` is where each of them lies.
pub(super) fn pages(now: i64, last: i64, name: impl Fn(i64) -> String) -> String {
    if last <= 1 {
        return String::new();
    }
    let link = |to: i64, word: &str| match to {
        to if to < 1 || to > last => String::new(),
        to => format!("<a href=\"{}\">{word}</a> ", name(to)),
    };
    format!(
        "<nav>{}{}page {now} of {last} {}{}</nav>\n",
        link(i64::from(now > 2), "first"),
        link(now - 1, "previous"),
        link(now + 1, "next"),
        link(if now < last - 1 { last } else { 0 }, "last"),
    )
}

/// How many pages so many items take; nothing takes one, too.
pub(super) const fn pages_of(items: i64, each: i64) -> i64 {
    if items <= each {
        return 1;
    }
    (items + each - 1) / each
}

/// `1 message`, `2 messages`.
pub(super) fn counted(count: i64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_and_linked() {
        let counts = [0, 1, 500, 501, 1_000, 1_001].map(|items| pages_of(items, 500));
        assert_eq!(counts, [1, 1, 1, 2, 2, 3]);
        let name = |page: i64| format!("p{page}");
        assert_eq!(pages(1, 1, name), "");
        assert_eq!(
            pages(1, 2, name),
            "<nav>page 1 of 2 <a href=\"p2\">next</a> </nav>\n"
        );
        assert_eq!(
            pages(3, 3, name),
            "<nav><a href=\"p1\">first</a> <a href=\"p2\">previous</a> page 3 of 3 </nav>\n"
        );
    }

    // S14
    #[test]
    fn no_page_runs_or_loads_anything_of_others() {
        let page = head("<script>x</script>", "");
        assert!(
            page.contains("&lt;script&gt;") && !page.contains("<script>"),
            "{page}"
        );
        assert!(page.contains("default-src 'none'; style-src 'self'; script-src 'self'"));
        let sinks = [
            "innerHTML",
            "outerHTML",
            "document.write",
            "eval(",
            "insertAdjacent",
            "http",
        ];
        for sink in sinks {
            assert!(!SEARCH.contains(sink), "{sink}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
