"""The noise study: what spoilt samples and a spoilt view do to each method, and who finds the spoilt samples."""
