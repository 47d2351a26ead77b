"""Which feature next, for this instance: a decision graph that grows where instances lead it."""
