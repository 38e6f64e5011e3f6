UPDATE gates SET same = NULL
  WHERE state = 'open' AND same IS NOT NULL
    AND body::json #>> '{opened,flow}' IS NOT NULL;
