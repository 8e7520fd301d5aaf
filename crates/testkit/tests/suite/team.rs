//! Three agents of one project and one of another.

use comity_kernel::actor::Party;
use comity_kernel::log::Event;
use comity_kernel::tx::WriteTx;
use comity_kernel::{Actor, Command, Error, Stop};
use comity_testkit::{Engine, Kit};
use serde::Serialize;
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

/// Lets something happen that another part of the kernel decides.
#[derive(Clone, Serialize)]
pub(crate) struct Happens {
    pub(crate) kind: &'static str,
    pub(crate) payload: Value,
}

impl Command for Happens {
    const NAME: &'static str = "happens";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        let event = Event::read(self.kind, 1, &self.payload.to_string());
        tx.emit(event.expect("a known kind").expect("a payload"))?;
        Ok(())
    }
}

/// Tries statements behind the log's back in the database's own shell, whatever its settings; each is
/// refused and nothing has changed.
pub(crate) fn withstands<A: AsRef<str>>(
    kit: &Kit,
    engine: Engine,
    attacks: &[A],
    dump: fn(&Kit, Engine) -> String,
) {
    let before = dump(kit, engine);
    let settings: &[&str] = match engine {
        Engine::Sqlite => &[
            "pragma foreign_keys = on; pragma recursive_triggers = on;",
            "pragma foreign_keys = on; pragma recursive_triggers = off;",
            "pragma foreign_keys = off; pragma recursive_triggers = off;",
        ],
        Engine::Postgres => &[""],
    };
    for setting in settings {
        for attack in attacks {
            let attack = attack.as_ref();
            let answer = kit.shell(&format!("{setting}{attack}"));
            assert!(answer.is_err(), "{attack}: {answer:?}");
        }
        // The shell ends at the first refusal, so what changed would show now.
        assert_eq!(dump(kit, engine), before);
    }
}
