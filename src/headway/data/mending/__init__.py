"""Repairs parallel text, leaves out pairs that cannot be repaired, and logs each change."""
