"""Random C functions with a second opinion on their values, and damaged text for the readers of this package."""
