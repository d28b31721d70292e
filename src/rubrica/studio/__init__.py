"""The studio: rubrics built, tried, compared and shared in a browser."""
