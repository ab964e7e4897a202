"""What every room stands on and nothing of clustering: values, files, memory, warnings, random draws."""
