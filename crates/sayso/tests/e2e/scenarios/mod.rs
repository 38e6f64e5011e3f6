//! The black-box scenarios: what a person, a script or an agent can notice.
