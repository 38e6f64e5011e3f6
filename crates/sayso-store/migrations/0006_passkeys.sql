-- Passkeys of people, and what is under way with one: a touch that was asked for and not given yet.

CREATE TABLE passkeys (
    space    {text} NOT NULL,
    id       {text} NOT NULL,
    name     {text} NOT NULL,
    label    {text} NOT NULL,
    body     {text} NOT NULL,
    added_at {int} NOT NULL,
    used_at  {int},
    PRIMARY KEY (space, id)
) {table};
CREATE INDEX passkeys_of ON passkeys (space, name, added_at);

CREATE TABLE ceremonies (
    id         {text} NOT NULL PRIMARY KEY,
    space      {text} NOT NULL,
    name       {text} NOT NULL,
    about      {text} NOT NULL,
    state      {text} NOT NULL,
    expires_at {int} NOT NULL
) {table};
CREATE INDEX ceremonies_over ON ceremonies (expires_at);
