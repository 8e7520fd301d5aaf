//! Which tools a client is shown.

use axum::http::request::Parts;
use comity_kernel::operation::Profile;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// A choice of profiles; `core` unless something else is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles(Vec<Profile>);

impl Default for Profiles {
    fn default() -> Self {
        Self(vec![Profile::Core])
    }
}

impl Profiles {
    /// Reads a list as in `core,work`; the error is a sentence for people.
    pub fn parse(words: &str) -> Result<Self, String> {
        let chosen: Result<Vec<Profile>, String> = words.split(',').map(read).collect();
        chosen.map(Self)
    }

    /// Tells whether the tools of `profile` are among the chosen ones.
    pub fn include(&self, profile: Profile) -> bool {
        self.0.contains(&Profile::All) || self.0.contains(&profile)
    }

    /// Takes the profiles the HTTP request asked for, and `otherwise` where there are none.
    pub(super) fn of(context: &RequestContext<RoleServer>, otherwise: &Self) -> Self {
        let parts = context.extensions.get::<Parts>();
        let asked = parts.and_then(|parts| parts.extensions.get::<Self>());
        asked.unwrap_or(otherwise).clone()
    }
}

/// Reads one profile.
fn read(word: &str) -> Result<Profile, String> {
    let word = word.trim();
    let found = Profile::EVERY.into_iter().find(|it| it.as_str() == word);
    found.ok_or_else(|| {
        let known = Profile::EVERY.map(Profile::as_str).join(", ");
        // The word is echoed shortened: it comes from outside and may be of any length.
        let word: String = word.chars().take(32).collect();
        format!("there is no profile `{word}`; the profiles are {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_the_sum_of_its_profiles() {
        let profiles = Profiles::parse("core, work").unwrap();
        assert!(profiles.include(Profile::Core) && profiles.include(Profile::Work));
        assert!(!profiles.include(Profile::Research));
    }

    #[test]
    fn all_includes_every_profile() {
        let profiles = Profiles::parse("all").unwrap();
        assert!(Profile::EVERY.into_iter().all(|it| profiles.include(it)));
    }

    #[test]
    fn an_unknown_profile_is_named_with_the_known_ones() {
        let refused = Profiles::parse("core,wrok").unwrap_err();
        let known = "the profiles are core, work, orchestrate, research, all";
        assert_eq!(refused, format!("there is no profile `wrok`; {known}"));
        assert!(Profiles::parse("").is_err());
    }
}
