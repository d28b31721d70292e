"""What the sandbox works out without a page: from a form to a context and back."""
