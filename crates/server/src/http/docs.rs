//! `GET /api/docs`: the API on one page, written from the registry. It needs no script and no network.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use comity_kernel::operation::{OPERATIONS, Operation};
use serde_json::Value;

use super::openapi::first_sentence;

const STYLE: &str = include_str!("docs.css");

static PAGE: LazyLock<String> = LazyLock::new(render);

/// Serves the page.
pub(super) async fn page() -> Response {
    let policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, PAGE.as_str()).into_response()
}

/// Serves the page's style.
pub(super) async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

fn render() -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Comity: the API</title>\
         <link rel=\"stylesheet\" href=\"/api/docs/style.css\"></head><body><nav><h1>Comity</h1><ul>",
    );
    for operation in OPERATIONS {
        let name = operation.name;
        let _ = write!(page, "<li><a href=\"#{name}\">{name}</a></li>");
    }
    page.push_str(
        "</ul></nav><main><p>JSON over HTTP. Present a token as <code>Authorization: Bearer</code>. \
         Every error is <code>{\"error\", \"message\", \"hint\"}</code>; the hint says what to do \
         next. The same as a document for programs: \
         <a href=\"/api/openapi.json\">openapi.json</a>.</p>",
    );
    for operation in OPERATIONS {
        section(&mut page, operation);
    }
    page.push_str("</main></body></html>");
    page
}

fn section(page: &mut String, operation: &Operation) {
    let schemas = operation.schemas();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<section id=\"{0}\"><h2>{0}</h2><p class=\"lead\">{1}.</p>",
        operation.name,
        escaped(first_sentence(&schemas.about))
    );
    for route in operation.routes {
        let (method, path) = (route.method.as_str(), escaped(route.path));
        let _ = write!(
            page,
            "<p><code class=\"route\"><b>{method}</b> {path}</code></p>"
        );
    }
    for (title, schema) in [("Request", &schemas.request), ("Answer", &schemas.answer)] {
        table(page, title, schema);
    }
    page.push_str("</section>");
}

fn table(page: &mut String, title: &str, schema: &Value) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|known| known == name))
    };
    let _ = write!(page, "<h3>{title}</h3><table>");
    for (name, field) in fields {
        let mark = if required(name) { "" } else { "?" };
        let about = field.get("description").and_then(Value::as_str);
        let _ = write!(
            page,
            "<tr><td><code>{}{mark}</code></td><td>{}</td><td>{}</td></tr>",
            escaped(name),
            escaped(&kind(field)),
            escaped(about.unwrap_or_default())
        );
    }
    page.push_str("</table>");
}

/// Says in a word or two what a field may hold.
fn kind(field: &Value) -> String {
    if let Some(Value::Array(words)) = field.get("enum") {
        let words: Vec<String> = words
            .iter()
            .filter(|it| !it.is_null())
            .map(Value::to_string)
            .collect();
        return words.join(" | ");
    }
    if let Some(Value::Array(choices)) = field.get("anyOf").or_else(|| field.get("oneOf")) {
        let kinds: Vec<String> = choices
            .iter()
            .map(kind)
            .filter(|kind| kind != "null")
            .collect();
        return kinds.join(" | ");
    }
    match (field.get("type"), field.get("const")) {
        (_, Some(word)) => word.to_string(),
        (Some(Value::String(only)), _) => only.clone(),
        (Some(Value::Array(several)), _) => {
            let kinds = several.iter().filter_map(Value::as_str);
            kinds
                .filter(|kind| *kind != "null")
                .collect::<Vec<_>>()
                .join(" | ")
        }
        _ => String::new(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    // S14
    #[test]
    fn the_page_names_every_operation_and_loads_nothing_from_elsewhere() {
        let page = render();
        for operation in OPERATIONS {
            assert!(page.contains(&format!("id=\"{}\"", operation.name)));
        }
        assert!(!page.contains("://"), "it must work offline");
        assert!(!page.contains("<script") && !page.contains("style=\""));
    }
}
