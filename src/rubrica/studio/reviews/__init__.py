"""The review queue: what people score, and how far the judge agrees."""
