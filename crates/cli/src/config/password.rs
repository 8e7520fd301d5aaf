//! Shows a database URL without what only its owner may know.

/// Leaves the password out, wherever it stands.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "(hidden)".to_owned();
    };
    // A password may hold `?`, so the credentials end at the last `@`.
    let (user, place) = match rest.rsplit_once('@') {
        Some((credentials, place)) => {
            let user = credentials.split(':').next().unwrap_or_default();
            (format!("{user}:***@"), place)
        }
        None => (String::new(), rest),
    };
    let (place, query) = place.split_once('?').unwrap_or((place, ""));
    let shown = |pair: &&str| pair.starts_with("schema=") || pair.starts_with("host=");
    let query: Vec<_> = query.split('&').filter(shown).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{place}{mark}{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // S18
    #[test]
    fn a_password_is_left_out_wherever_it_stands() {
        for url in [
            "postgres://me:canary@db/comity",
            "postgres://me:ca?canary@db/comity?schema=x",
            "postgres://me:a@canary@db/comity",
            "postgres://db/comity?user=me&password=canary",
            "host=db password=canary",
        ] {
            let shown = without_password(url);
            assert!(!shown.contains("canary"), "{shown}");
        }
        let shown = without_password("postgres://me:p@db:5432/comity?schema=a&sslmode=require");
        assert_eq!(shown, "postgres://me:***@db:5432/comity?schema=a");
    }
}
