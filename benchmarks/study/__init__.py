"""The study that sets the defaults: which settings win without labels, chosen on some data, confirmed on other."""
