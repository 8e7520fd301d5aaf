//! Tokens that were good a moment ago.
//!
//! Looking a token up is a read of its own; every command and query looks at it once more in its
//! own transaction anyway. So what is known here only says who calls. Whether the token is still
//! good, and what its agent may do, the transaction decides (E5).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use comity_domain::{TokenHash, TokenId, TokenSecret};
use comity_kernel::Actor;

/// Tokens that are remembered; when they are more, all are looked up again.
const TOKENS_MAX: usize = 10_000;

/// Who presented which token.
#[derive(Default)]
pub(crate) struct Known(Mutex<HashMap<TokenId, (TokenHash, Actor)>>);

impl Known {
    /// Tells who presents a token, if it is known.
    pub(crate) fn get(&self, secret: &TokenSecret) -> Option<Actor> {
        let tokens = self.lock();
        let (hash, actor) = tokens.get(&secret.id())?;
        hash.matches(&secret.hash()).then(|| actor.clone())
    }

    /// Remembers who presented a good token.
    pub(crate) fn keep(&self, secret: &TokenSecret, actor: &Actor) {
        let mut tokens = self.lock();
        if tokens.len() >= TOKENS_MAX {
            tokens.clear();
        }
        tokens.insert(secret.id(), (secret.hash(), actor.clone()));
    }

    /// Forgets a token that was refused.
    pub(crate) fn forget(&self, token: TokenId) {
        self.lock().remove(&token);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TokenId, (TokenHash, Actor)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S19, E5
    #[test]
    fn only_the_whole_token_is_known_and_only_until_it_is_forgotten() {
        let known = Known::default();
        let id = TokenId::new(7);
        let (good, guess) = (TokenSecret::new(id, [1; 32]), TokenSecret::new(id, [2; 32]));
        known.keep(&good, &Actor::OPERATOR);
        assert_eq!(known.get(&good), Some(Actor::OPERATOR));
        assert_eq!(known.get(&guess), None);
        known.forget(id);
        assert_eq!(known.get(&good), None);
    }
}
