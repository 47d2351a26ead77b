"""Any classifier as beliefs: fitted on every prefix of an order of columns, and made honest by one temperature each."""
