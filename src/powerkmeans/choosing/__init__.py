"""What choosing the number of clusters is made of: solutions, clouds without clusters, criteria, a rule."""
