"""The marketplace: browse, look at a listing, rate it, import it."""
