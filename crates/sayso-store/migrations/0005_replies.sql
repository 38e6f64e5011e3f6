-- What came of calls from elsewhere, for a while: whoever did not hear the reply asks again, and it is
-- done once.

CREATE TABLE replies (
    space      {text} NOT NULL,
    credential {text} NOT NULL,
    request    {text} NOT NULL,
    part       {int} NOT NULL,
    digest     {text} NOT NULL,
    body       {text} NOT NULL,
    at         {int} NOT NULL,
    PRIMARY KEY (space, credential, request, part)
) {table};
CREATE INDEX replies_at ON replies (space, at);
