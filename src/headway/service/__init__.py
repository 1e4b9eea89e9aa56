"""A translation service: LibreTranslate's routes, Headway's own routes, and the explorer."""
