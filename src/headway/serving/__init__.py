"""The explorer: an HTTP server that lets a browser look inside models."""
