-- Walks through workflows. A flow that waits for people is a row and nothing else.

CREATE TABLE flows (
    id         {text} NOT NULL PRIMARY KEY,
    space      {text} NOT NULL,
    handle     {text} NOT NULL,
    workflow   {text} NOT NULL,
    standing   {text} NOT NULL,
    is_over    {int} NOT NULL,
    gate       {text},
    held_until {int},
    started_at {int} NOT NULL,
    version    {int} NOT NULL,
    body       {text} NOT NULL
) {table};
CREATE UNIQUE INDEX flows_handle ON flows (space, handle);
CREATE INDEX flows_all ON flows (space, started_at, id);
CREATE INDEX flows_live ON flows (space, started_at, id) WHERE is_over = 0;
CREATE INDEX flows_of ON flows (space, workflow, started_at, id);
