UPDATE gates SET same = NULL
  WHERE state = 'open' AND same IS NOT NULL AND task IS NULL
    AND json_extract(body, '$.card.shape.form') = 'verdict';
