//! Every page, opened with every sort of credential.

use super::stage::Stage;
use super::{About, Need, check};
use sayso_server::http::page_rows;
use serde_json::json;

use About::{Gate, Nothing, Task};
use Need::{All, Any, One};

/// A page: its path behind the space, who may open it, and what it is about.
const ROWS: &[(&str, Need, About)] = &[
    ("/inbox", Any, Nothing),
    ("/gates/{gate}", One("R"), Gate),
    ("/gates/{gate}/try", Any, Gate),
    ("/tasks", One("TR"), Nothing),
    ("/tasks/{task}", One("TR"), Task),
    ("/flows", One("R"), Nothing),
    ("/flows/{flow}", One("R"), Nothing),
    ("/live", One("TR"), Nothing),
    ("/agents", One("TR"), Nothing),
    ("/policy", One("R"), Nothing),
    ("/audit", One("U"), Nothing),
    ("/metrics", One("R"), Nothing),
    ("/you", All("AR"), Nothing),
    ("/waiting", Any, Nothing),
];

pub(super) fn check_all(stage: &mut Stage) -> usize {
    let mut cells = 0;
    let pages = page_rows();
    for page in &pages {
        let path = page.path.strip_prefix("/s/{space}").unwrap();
        let row = ROWS.iter().find(|(row, ..)| *row == path);
        let (_, need, about) =
            *row.unwrap_or_else(|| panic!("{path} has no row in the table of pages"));
        // As a whole, and the part alone that a script asks for.
        for part in ["", "sayso-part: 1\r\n"] {
            cells += check(
                stage,
                path,
                (need, about, page.method == "GET"),
                &|stage, holder, object| {
                    let object = if object.is_empty() { "nothing" } else { object };
                    let mut path = format!("/s/{}{path}", stage.server.space);
                    while let Some((head, rest)) = path.split_once('{') {
                        path = format!("{head}{object}{}", rest.split_once('}').unwrap().1);
                    }
                    let body = (page.method == "POST").then(|| {
                    json!({"verdict": "approved", "text": "yes", "digest": stage.digest(object)})
                });
                    Some(stage.send_with(holder, page.method, &path, body.as_ref(), part))
                },
            );
        }
    }
    assert_eq!(ROWS.len(), pages.len());
    cells
}
