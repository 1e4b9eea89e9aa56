"""A translation service: LibreTranslate's routes and Headway's own, beside the explorer."""
