-- Flows from before say it in their view.
UPDATE flows SET task = json_extract(body, '$.started.task');
