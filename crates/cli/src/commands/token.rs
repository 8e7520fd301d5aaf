//! `comity token`.

use clap::{Args, Subcommand};
use comity_domain::{Role, TokenId};
use comity_kernel::project::table::Label;
use comity_kernel::token::{CreateToken, ListTokens, RevokeToken};
use comity_kernel::{Command as _, Query as _};

use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::place;
use crate::session::Context;
use crate::show::{Column, Shown};

const COLUMNS: &[Column] = &[
    Column::text("id"),
    Column::text("role"),
    Column::text("name"),
    Column::text("project_id"),
    Column::text("agent_id"),
    Column::time("created_at"),
    Column::time("revoked_at"),
];

/// Tokens.
#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for an operator or an observer; it goes into a file.
    Create(Create),
    /// List tokens, revoked ones included.
    List(List),
    /// Revoke a token for good.
    Revoke(Revoke),
}

#[derive(Args)]
pub(crate) struct Create {
    /// What its holder is; `--project` limits an observer to one.
    #[arg(long, value_parser = word::<Role>(&["operator", "observer"]))]
    role: Role,
    /// What people call it.
    #[arg(long, value_parser = text::<Label>)]
    name: Option<Label>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Revoke {
    /// The token's number.
    #[arg(value_parser = json::<TokenId>)]
    id: TokenId,
}

impl TokenCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Create(create) => create.run(context),
            Self::List(list) => list.run(context),
            Self::Revoke(revoke) => revoke.run(context),
        }
    }
}

impl Create {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let named = context.globals.project.as_ref();
        let request = CreateToken {
            role: self.role,
            // Without a project it is good for all of them, so none is assumed.
            project: named.map(place::named_project).transpose()?,
            name: self.name.clone(),
        };
        let answer = context.session()?.call(CreateToken::NAME, &request)?;
        Ok(Shown::entity(answer, "token", COLUMNS))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListTokens {
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListTokens::NAME, &request)?;
        Ok(Shown::table(answer, COLUMNS))
    }
}

impl Revoke {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RevokeToken { id: self.id };
        let answer = context.session()?.call(RevokeToken::NAME, &request)?;
        Ok(Shown::entity(answer, "token", COLUMNS))
    }
}
