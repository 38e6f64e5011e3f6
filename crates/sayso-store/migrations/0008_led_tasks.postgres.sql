-- Flows from before say it in their view.
UPDATE flows SET task = body::json #>> '{started,task}';
