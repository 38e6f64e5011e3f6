-- People who come from elsewhere: who they are, how they get in, and how often somebody guessed wrong.

CREATE TABLE people (
    space     {text} NOT NULL,
    name      {text} NOT NULL,
    is_admin  {int} NOT NULL,
    joined_at {int} NOT NULL,
    PRIMARY KEY (space, name)
) {keyed_table};

-- Codes that let somebody in, once. The code itself is not kept. A name is set for whom it is meant.
CREATE TABLE invitations (
    hash       {text} NOT NULL PRIMARY KEY,
    space      {text} NOT NULL,
    name       {text},
    is_admin   {int} NOT NULL,
    invited_by {text} NOT NULL,
    expires_at {int} NOT NULL,
    used_at    {int}
) {table};
CREATE INDEX invitations_open ON invitations (space, expires_at) WHERE used_at IS NULL;

CREATE TABLE guesses (
    space    {text} NOT NULL,
    name     {text} NOT NULL,
    failures {int} NOT NULL,
    until    {int} NOT NULL,
    PRIMARY KEY (space, name)
) {keyed_table};

-- What a credential is limited to; none is all its role may do.
ALTER TABLE tokens ADD COLUMN scopes {text};
