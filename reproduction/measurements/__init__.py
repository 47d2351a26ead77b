"""Beyond the paper: the table to beat, total cost in money, and curves beside published methods."""
