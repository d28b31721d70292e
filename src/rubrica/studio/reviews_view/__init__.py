"""The review queue: what one person may see of an item, what they give it, and how far the judge agrees."""
