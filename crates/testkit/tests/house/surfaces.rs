//! Rules about the registry: every operation is everywhere, or says why not (F10).

use std::collections::{BTreeMap, BTreeSet};

use comity_kernel::operation::{Method, OPERATIONS, Tool};

use super::read;

// F10
#[test]
fn the_page_of_names_is_what_the_registry_says() {
    let page = comity_testkit::surfaces::page();
    assert!(
        page == read("docs/surfaces.md"),
        "run `cargo run -q -p comity-testkit --bin surfaces > docs/surfaces.md`"
    );
}

// F10
#[test]
fn every_operation_has_its_route_and_its_command_and_no_two_share_one() {
    let mut routes = BTreeMap::new();
    let mut commands = BTreeMap::new();
    let mut names = BTreeSet::new();
    for operation in OPERATIONS {
        assert!(
            names.insert(operation.name),
            "{} is there twice",
            operation.name
        );
        assert!(
            !operation.routes.is_empty(),
            "{} has no route",
            operation.name
        );
        assert!(
            !operation.commands.is_empty(),
            "{} has no command",
            operation.name
        );
        for route in operation.routes {
            let other = routes.insert((route.method.as_str(), route.path), operation.name);
            assert_eq!(other, None, "{} {}", route.method.as_str(), route.path);
            let reads = route.method == Method::Get;
            assert!(
                !reads || !operation.effect.writes(),
                "S15: {} by GET",
                operation.name
            );
        }
        for command in operation.commands {
            assert_eq!(commands.insert(command, operation.name), None, "{command}");
        }
    }
}

// A14: whatever else writes is refused where the database has lost its end
#[test]
fn a_write_that_changes_nothing_kept_is_a_copy() {
    let beside = OPERATIONS
        .iter()
        .filter(|operation| operation.effect.writes() && !operation.effect.changes());
    let names: Vec<_> = beside.map(|operation| operation.name).collect();
    assert_eq!(names, ["backup", "export"]);
}

// F10
#[test]
fn an_operation_inside_a_tool_names_a_tool_that_is_there() {
    let named = |tool: Tool| match tool {
        Tool::Named(name, _) => Some(name),
        Tool::In(_) | Tool::None(_) => None,
    };
    let tools: BTreeSet<_> = OPERATIONS.iter().filter_map(|it| named(it.tool)).collect();
    for operation in OPERATIONS {
        if let Tool::In(name) = operation.tool {
            assert!(tools.contains(name), "{} is in {name}", operation.name);
        }
    }
}
