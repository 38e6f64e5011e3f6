//! On a phone among its programs: what a browser needs to put it there, without a worker of its own.

use super::Desk;
use crate::harness::in_places;
use serde_json::json;

in_places! {
    [sqlite: Sqlite]
    /// The browser itself finds nothing that keeps it from being installed, and no script stays behind.
    fn a_browser_would_install_it(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let manifest = page.call("Page.getAppManifest", json!({}));
        assert_eq!(manifest["errors"], json!([]), "{manifest}");
        assert!(manifest["data"].as_str().unwrap().contains("standalone"));
        let errors = page.call("Page.getInstallabilityErrors", json!({}));
        let ids: Vec<_> = errors["installabilityErrors"].as_array().unwrap().iter().map(|e| e["errorId"].clone()).collect();
        // A browser without a window has a profile that installs nothing; that is not about the page.
        let about_page: Vec<_> = ids.iter().filter(|id| *id != "in-incognito").collect();
        assert!(about_page.is_empty(), "{errors}");
        assert_eq!(page.eval("navigator.serviceWorker.getRegistrations().then((all) => all.length)"), 0);
        for size in ["link[rel=apple-touch-icon]", "link[rel=icon]"] {
            let loads = format!("fetch(document.querySelector('{size}').href).then((answer) => answer.ok && answer.headers.get('content-type').startsWith('image/'))");
            assert_eq!(page.eval(&loads), true, "{size}");
        }
        desk.is_content();
    }
}
