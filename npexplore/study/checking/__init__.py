"""Published against predicted: a rule for every row, scores, a user's own results, fitted parameters."""
