"""What long runs share: worker processes, rows in a file that grows, and how far it is."""
