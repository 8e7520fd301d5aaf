//! Three agents of one project and one of another.

use comity_kernel::{Actor, Error};
use comity_testkit::{Engine, Kit};
use serde_json::Value;

/// Who takes part; each file of tests adds what they do in it.
pub(crate) struct Team {
    pub(crate) kit: Kit,
    pub(crate) blue: Actor,
    pub(crate) green: Actor,
    pub(crate) red: Actor,
    pub(crate) far: Actor,
}

impl Team {
    pub(crate) fn new(engine: Engine) -> Self {
        Self::of(Kit::new(engine))
    }

    /// The same, with a kit of one's own.
    pub(crate) fn of(kit: Kit) -> Self {
        kit.project("/srv/web");
        kit.project("/srv/api");
        let actor = |project, name| kit.agent(project, name).1;
        let (blue, green) = (actor("web", "Blue"), actor("web", "Green"));
        let (red, far) = (actor("web", "Red"), actor("api", "Far"));
        Self {
            kit,
            blue,
            green,
            red,
            far,
        }
    }

    pub(crate) fn call(
        &self,
        who: &Actor,
        operation: &str,
        request: &Value,
    ) -> Result<Value, Error> {
        self.kit.call(who.clone(), operation, request)
    }
}

/// The word for why something was refused.
pub(crate) fn code(answer: Result<Value, Error>) -> &'static str {
    match answer {
        Ok(answer) => panic!("done: {answer}"),
        Err(error) => error.code().word,
    }
}
