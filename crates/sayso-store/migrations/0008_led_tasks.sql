-- The task a flow works on: while the flow goes on, that task is nobody else's to take.

ALTER TABLE flows ADD COLUMN task {text};
CREATE INDEX flows_task ON flows (task, started_at) WHERE is_over = 0 AND task IS NOT NULL;

-- Flows that are over, newest first, for pages that show them apart.
CREATE INDEX flows_over ON flows (space, started_at, id) WHERE is_over = 1;
