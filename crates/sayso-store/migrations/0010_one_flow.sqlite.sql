UPDATE gates SET same = NULL
  WHERE state = 'open' AND same IS NOT NULL
    AND json_extract(body, '$.opened.flow') IS NOT NULL;
