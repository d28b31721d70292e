"""What the council's page shows, worked out without a browser."""
