"""Who is near whom: rows by the landmarks around them, and coordinates that their graph gives."""
