-- What time does next to an open gate, what people set for a space, and what was put before its policy.

ALTER TABLE gates ADD COLUMN due_at {int};
CREATE INDEX gates_due ON gates (space, due_at, id) WHERE due_at IS NOT NULL;

-- Policies, agents, roles, people, groups and the like. What was taken away keeps its row, without a
-- body, so that the newest row tells whether anything changed.
CREATE TABLE settings (
    space  {text} NOT NULL,
    kind   {text} NOT NULL,
    name   {text} NOT NULL,
    seq    {int} NOT NULL,
    set_by {text} NOT NULL,
    set_at {int} NOT NULL,
    body   {text},
    PRIMARY KEY (space, kind, name)
) {keyed_table};
CREATE INDEX settings_seq ON settings (space, seq);

-- What was put before the policy, what it said, and what came of it.
CREATE TABLE requests (
    id      {text} NOT NULL PRIMARY KEY,
    space   {text} NOT NULL,
    at      {int} NOT NULL,
    agent   {text} NOT NULL,
    ruling  {text} NOT NULL,
    verdict {text},
    body    {text} NOT NULL
) {table};
CREATE INDEX requests_at ON requests (space, at, id);
CREATE INDEX requests_agent ON requests (space, agent, at) WHERE ruling <> 'allow';
