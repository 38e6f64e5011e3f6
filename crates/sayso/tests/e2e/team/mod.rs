//! A team: people, workers and agents on other machines, who have a server and no database.

mod attacks;
mod away;
pub mod certificates;
mod database;
mod many;
mod people;
mod tls;

use crate::harness::{Backend, Ran, Server, Space, Who};

/// A store, a server of it, and machines that reach it.
struct Team {
    /// Where the store is.
    home: Space,
    server: Server,
    name: String,
}

impl Team {
    fn new(backend: Backend) -> Self {
        let home = Space::bare(backend);
        let server = Server::start(home.path(), &[]);
        let name = home.path().file_name().unwrap().to_str().unwrap().to_owned();
        Self { home, server, name }
    }

    /// Another machine, whose user has not logged in.
    fn machine(&self) -> Space {
        let machine = Space::empty();
        let init = ["init", "--name", &self.name, "--store", &self.server.url];
        machine.run(Who::Script, &init).ok();
        machine
    }

    /// A machine at which somebody has logged in who looks after the space from now on.
    fn first(&self, name: &str) -> Space {
        let machine = self.machine();
        let code = self.home.first_code(name);
        join(&machine, name, &code, "correct horse").exits(0).says("logged in");
        machine
    }

    /// A token that was made at a machine, in a file there.
    fn token(&self, at: &Space, role: &str, name: &str) -> std::path::PathBuf {
        at.mint(role, name);
        at.token(name)
    }

    /// A machine at which somebody has logged in whom another has invited.
    fn invited(&self, by: &Space, name: &str) -> Space {
        let code = by.run(Who::Terminal, &["people", "invite", name, "--json"]).json();
        let machine = self.machine();
        join(&machine, name, code["code"].as_str().unwrap(), "correct horse").exits(0);
        machine
    }
}

fn join(machine: &Space, name: &str, code: &str, passphrase: &str) -> Ran {
    let args = ["login", "--name", name, "--code", code];
    machine.run_with_input(Who::Terminal, &args, &format!("{passphrase}\n{passphrase}\n"))
}

fn log_in(machine: &Space, name: &str, passphrase: &str) -> Ran {
    machine.run_with_input(Who::Terminal, &["login", "--name", name], &format!("{passphrase}\n"))
}

/// Makes two tests of one: a team on SQLite, and one on PostgreSQL.
macro_rules! for_teams {
    ($(#[$doc:meta])* fn $name:ident($team:ident: &Team) $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::harness::Backend;
            use $crate::team::Team;

            $(#[$doc])*
            fn run($team: &Team) $body

            #[test]
            fn sqlite() {
                run(&Team::new(Backend::Sqlite));
            }

            #[test]
            fn postgres() {
                run(&Team::new(Backend::Postgres));
            }
        }
    };
}
use for_teams;
