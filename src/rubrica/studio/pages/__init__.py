"""The pages of the studio, one module for each place in its menu."""
