"""From training rows to beliefs and policies: folds, walks of held-out rows, orders that see features together."""
