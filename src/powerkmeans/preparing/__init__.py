"""What is done to a table before it is fitted, kept with the model so that it is done to new rows too."""
