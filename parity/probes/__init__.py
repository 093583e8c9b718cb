"""What is observed of each side, from captures: selection, rules, and the comparison of a pair."""
