"""The experiments of the paper: which cells there are, what they do, the published figures, tables and figures."""
