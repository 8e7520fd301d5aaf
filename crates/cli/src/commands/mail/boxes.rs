//! Whose mail is meant.

use comity_kernel::Error;
use comity_kernel::agent::AgentRef;
use comity_kernel::mail::inbox::BoxRef;
use comity_kernel::project::ProjectRef;

use crate::place;
use crate::session::Session;
use crate::who::Who;

/// Returns whose box is meant; the operator's own has a name, an agent's is said by its token.
pub(crate) fn whose(session: &Session<'_>, named: Option<&BoxRef>) -> Option<BoxRef> {
    match (named, &session.who) {
        (Some(named), _) => Some(named.clone()),
        (None, Who::Operator) => Some(BoxRef::Operator),
        (None, Who::Token(_)) => None,
    }
}

/// Returns the project in which the named ones are looked for; numbers and the operator need none.
pub(crate) fn project_of(
    session: &Session<'_>,
    named: [Option<&BoxRef>; 2],
) -> Result<Option<ProjectRef>, Error> {
    let by_name = |named: &BoxRef| matches!(named, BoxRef::Agent(AgentRef::Name(_)));
    if named.into_iter().flatten().any(by_name) {
        return session.project();
    }
    let given = session.globals.project.as_ref();
    given.map(place::named_project).transpose()
}
