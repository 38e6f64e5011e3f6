UPDATE gates SET same = NULL
  WHERE state = 'open' AND same IS NOT NULL AND task IS NULL
    AND body::json #>> '{card,shape,form}' = 'verdict';
