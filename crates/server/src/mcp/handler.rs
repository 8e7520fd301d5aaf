//! The protocol's methods.

use std::sync::Arc;

use comity_kernel::operation::OPERATIONS;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::task::JoinSet;

use super::desk::{Desk, McpCaller};
use super::profile::Profiles;
use super::result;
use super::tools::Tools;

/// What every agent is told when it connects.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Answers one client, or every client of an HTTP server: it keeps nothing between calls.
#[derive(Clone)]
pub struct Handler {
    /// Where calls are answered.
    desk: Arc<dyn Desk>,
    /// The tools of every profile.
    tools: Tools,
    /// The profiles of a client that did not choose.
    profiles: Profiles,
}

impl Handler {
    /// Offers the registry's tools of `profiles`, answered at `desk`.
    pub fn new(desk: Arc<dyn Desk>, profiles: Profiles) -> Self {
        Self {
            desk,
            tools: Tools::of(OPERATIONS),
            profiles,
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new("comity", env!("CARGO_PKG_VERSION")).with_title("Comity");
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS.trim_end())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some() {
            let message = "the tools are one page: call `tools/list` without a cursor";
            return Err(ErrorData::invalid_params(message, None));
        }
        let profiles = Profiles::of(&context, &self.profiles);
        Ok(ListToolsResult::with_all_items(self.tools.list(&profiles)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let profiles = Profiles::of(&context, &self.profiles);
        let offer = self.tools.find(&request.name, &profiles)?;
        let caller = McpCaller::of(&context);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = offer.start(&*self.desk, caller, arguments);
        // In a task of its own, which ends with this function: rmcp never answers a call that
        // panics, and lets one that was cancelled run on.
        let mut calls = JoinSet::new();
        calls.spawn(answer);
        tokio::select! {
            biased;
            answer = calls.join_next() => Ok(result::of(offer, result::settled(answer)).into()),
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unroutable(&request.method, &context))
    }

    // rmcp answers these four with empty results although nothing declares them.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

/// Refuses a request rmcp could not read as one of the protocol's: an unknown method, or a known
/// one with parameters of the wrong shape.
fn unroutable(method: &str, context: &RequestContext<RoleServer>) -> ErrorData {
    let has_handshake = context.meta.protocol_version().is_none();
    let shape = match method {
        "initialize" if has_handshake => "`protocolVersion`, `capabilities` and `clientInfo`",
        "tools/call" => "a string `name` and an object `arguments`",
        "tools/list" => "at most a string `cursor`",
        _ => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None),
    };
    ErrorData::invalid_params(format!("the params of `{method}` are {shape}"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short() {
        assert!(INSTRUCTIONS.len() < 1_100, "{} bytes", INSTRUCTIONS.len());
    }
}
