-- What an open gate asks, by name: gates that ask the same are one card. Gates from before have none, and
-- are cards of their own.

ALTER TABLE gates ADD COLUMN same {text};
CREATE INDEX gates_same ON gates (space, same, opened_at, id) WHERE state = 'open' AND same IS NOT NULL;

-- Endings that nobody has gone on with, by time: the doctor looks for those that hang.
CREATE INDEX deliveries_at ON deliveries (space, at, gate) WHERE state <> 'acknowledged';
