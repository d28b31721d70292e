"""The pack `short-reply`: data only."""
