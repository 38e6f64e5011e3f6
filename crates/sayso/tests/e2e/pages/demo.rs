//! The first command of the README: the terminal and the page side by side.

use super::{Browser, drawn, read};
use crate::harness::{Space, Who};
use std::io::{BufRead, BufReader, Read};

#[test]
fn the_demo_is_played_from_the_page() {
    let space = Space::empty();
    let mut demo = space.start(Who::Terminal, &["demo"]);
    let mut said = BufReader::new(demo.stdout.take().unwrap());
    let link = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it told the address");
        if line.contains("/login#") {
            break line.trim().to_owned();
        }
    };
    let rest = std::thread::spawn(move || {
        let mut rest = vec![];
        let _ = said.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    });
    let page = Browser::start();
    page.look(1280, 800, "light");
    page.go(&link);
    page.until("document.documentElement.dataset.ready === 'inbox'");
    // A sign-off, a choice and a question; the agents go on after each.
    for shape in ["verdict", "choice", "text"] {
        let row = format!(".row[data-shape={shape}]:not(.over)");
        page.until(&format!("!!document.querySelector('{row}')"));
        let handle = page.eval(&format!("document.querySelector('{row}').dataset.handle"));
        page.click(&format!("{row} a"));
        drawn(&page, handle.as_str().unwrap());
        match shape {
            "choice" => page.press("1"),
            "text" => {
                page.press("e");
                page.write("Aurora");
                page.press("Escape");
            }
            _ => page.says("+"),
        }
        read(&page);
        page.press("a");
        page.until(&format!(
            "document.querySelector('.row[data-handle={}]').classList.contains('over')",
            handle.as_str().unwrap()
        ));
    }
    assert!(demo.wait().unwrap().success());
    let said = rest.join().unwrap();
    assert!(said.contains("meanwhile"), "the terminal heard of it: {said}");
    assert!(said.contains("What became of it"), "{said}");
}
