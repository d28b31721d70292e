"""From scores to a verdict, and the statistics of agreement, comparison and trends: pure arithmetic."""
