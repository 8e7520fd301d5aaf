//! The registry's tools as the protocol describes them, and how one is found by its name.

use std::sync::Arc;

use comity_domain::{json, suggest};
use comity_kernel::Error;
use comity_kernel::operation::{self, Effect, Operation, Profile, Tool, schema_of};
use rmcp::{ErrorData, model};
use serde_json::{Map, Value};

use super::desk::{Answer, Desk, McpCaller};
use super::join::Join;
use super::profile::Profiles;
use super::schema::lean;
use super::tool::{self, OwnTool};

/// The tool that is more than one operation.
const JOIN: &str = "join";
/// Most characters of an unknown name that are echoed.
const ECHO_CHARS_MAX: usize = 64;

/// One tool on offer.
pub(super) struct Offer {
    /// The tool's name.
    pub(super) name: &'static str,
    /// The profile that has it.
    profile: Profile,
    /// The operation behind it.
    operation: &'static Operation,
    /// Its own request, if it has one.
    own: Option<OwnTool>,
    /// What `tools/list` says about it.
    described: model::Tool,
}

/// Every tool of the registry, described once.
#[derive(Clone)]
pub(super) struct Tools(Arc<[Offer]>);

impl Tools {
    /// Describes the tools among `operations`.
    pub(super) fn of(operations: &'static [Operation]) -> Self {
        Self(operations.iter().filter_map(Offer::of).collect())
    }

    /// Lists the tools of `profiles`.
    pub(super) fn list(&self, profiles: &Profiles) -> Vec<model::Tool> {
        let shown = self.shown(profiles);
        shown.map(|offer| offer.described.clone()).collect()
    }

    /// Finds a tool; the error tells which one may have been meant, or which profile has it.
    pub(super) fn find(&self, name: &str, profiles: &Profiles) -> Result<&Offer, ErrorData> {
        let Some(offer) = self.0.iter().find(|offer| offer.name == name) else {
            return Err(ErrorData::invalid_params(
                self.unknown(name, profiles),
                None,
            ));
        };
        if profiles.include(offer.profile) {
            return Ok(offer);
        }
        let profile = offer.profile.as_str();
        let message = format!("tool `{name}` is in profile `{profile}`, which was not asked for");
        Err(ErrorData::invalid_params(message, None))
    }

    /// Goes over the tools of `profiles`.
    fn shown(&self, profiles: &Profiles) -> impl Iterator<Item = &Offer> {
        let offers = self.0.iter();
        offers.filter(|offer| profiles.include(offer.profile))
    }

    /// Says that there is no tool `name`, and what there is.
    fn unknown(&self, name: &str, profiles: &Profiles) -> String {
        let names: Vec<&str> = self.shown(profiles).map(|offer| offer.name).collect();
        let echo: String = name.chars().take(ECHO_CHARS_MAX).collect();
        match suggest::nearest(name, names.iter().copied()) {
            Some(near) => format!("there is no tool `{echo}`; did you mean `{near}`?"),
            None => format!(
                "there is no tool `{echo}`; the tools are {}",
                names.join(", ")
            ),
        }
    }
}

impl Offer {
    /// Describes an operation, if it is a tool of its own.
    fn of(operation: &'static Operation) -> Option<Self> {
        let Tool::Named(name, profile) = operation.tool else {
            return None;
        };
        let schemas = operation.schemas();
        let own = tool::find(name);
        let (about, input) = match (name, own) {
            (JOIN, _) => described(schema_of::<Join>()),
            (_, Some(own)) => described((own.schema)()),
            (_, None) => (schemas.about.clone(), lean(&schemas.request)),
        };
        let mut described = model::Tool::new(name, about, input)
            .with_title(title(name))
            .with_annotations(hints(operation.effect));
        // A shape of the answer costs more context than it is worth in tools everybody has.
        if profile != Profile::Core {
            let answer = match own {
                // It may be that of several operations.
                Some(_) => lean(&Value::Null),
                None => lean(&schemas.answer),
            };
            described = described.with_raw_output_schema(Arc::new(answer));
        }
        Some(Self {
            name,
            profile,
            operation,
            own,
            described,
        })
    }

    /// Starts the tool at a desk.
    pub(super) fn start(&self, desk: &dyn Desk, caller: McpCaller, arguments: Value) -> Answer {
        if self.name == JOIN {
            return match json::decode(arguments) {
                Ok(join) => desk.join(caller, join),
                Err(fault) => refused(fault.into()),
            };
        }
        let Some(own) = self.own else {
            return desk.call(caller, self.operation, arguments);
        };
        let planned =
            (own.plan)(arguments).and_then(|(name, request)| Ok((operation::find(name)?, request)));
        match planned {
            Ok((operation, request)) => {
                let answer = desk.call(caller, operation, request);
                Box::pin(async move {
                    let answer = answer.await.map(|answer| own.shortened(answer));
                    answer.map_err(tool::refusal)
                })
            }
            Err(error) => refused(error),
        }
    }

    /// Tells whether the shape of its answers is declared.
    pub(super) fn is_structured(&self) -> bool {
        self.described.output_schema.is_some()
    }
}

fn refused(error: Error) -> Answer {
    Box::pin(async move { Err(error.to_json()) })
}

/// Takes the description out of a request's schema.
fn described(mut schema: Value) -> (String, Map<String, Value>) {
    let about = schema
        .as_object_mut()
        .and_then(|it| it.remove("description"));
    let about = about.and_then(|about| about.as_str().map(str::to_owned));
    (about.unwrap_or_default(), lean(&schema))
}

/// Tells a client what to expect of a tool with this effect.
fn hints(effect: Effect) -> model::ToolAnnotations {
    let (destructive, idempotent) = match effect {
        Effect::Reads | Effect::Sets => (false, true),
        Effect::Copies | Effect::Adds | Effect::Takes => (false, false),
        Effect::Ends => (true, true),
    };
    model::ToolAnnotations::new()
        .read_only(!effect.writes())
        .destructive(destructive)
        .idempotent(idempotent)
        .open_world(false)
}

/// Makes a title of a name: `list_agents` is `List agents`.
fn title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let rest = letters.map(|letter| if letter == '_' { ' ' } else { letter });
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use comity_kernel::operation::OPERATIONS;

    use super::*;

    #[test]
    fn an_unknown_tool_is_answered_with_a_near_one() {
        let tools = Tools::of(OPERATIONS);
        let refusal = |name: &str| {
            let refused = tools.find(name, &Profiles::default()).err().unwrap();
            refused.message.into_owned()
        };
        let expected = "there is no tool `list_agent`; did you mean `list_agents`?";
        assert_eq!(refusal("list_agent"), expected);
        assert!(refusal("rm").starts_with("there is no tool `rm`; the tools are join, status"));
        assert!(refusal(&"x".repeat(9000)).len() < 500);
    }

    #[test]
    fn a_tool_of_another_profile_names_it() {
        let tools = Tools::of(OPERATIONS);
        let refused = tools.find("health", &Profiles::default()).err().unwrap();
        assert!(refused.message.contains("profile `all`"), "{refused}");
        assert!(
            tools
                .find("health", &Profiles::parse("all").unwrap())
                .is_ok()
        );
    }

    #[test]
    fn the_core_tools_are_few_and_their_list_is_short() {
        let listed = Tools::of(OPERATIONS).list(&Profiles::default());
        let bytes = serde_json::to_vec(&listed).unwrap().len();
        println!("{} core tools in {bytes} bytes", listed.len());
        assert!(listed.len() <= 14 && bytes < 14_000, "{bytes} bytes");
        assert!(listed.iter().all(|tool| tool.output_schema.is_none()));
    }

    #[test]
    fn tools_of_other_profiles_declare_their_answers() {
        let tools = Tools::of(OPERATIONS);
        let others = tools
            .0
            .iter()
            .filter(|offer| offer.profile != Profile::Core);
        assert!(others.into_iter().all(Offer::is_structured));
    }
}
