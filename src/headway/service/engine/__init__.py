"""The process of one model: texts come in as lines of JSON, and translations go out."""
