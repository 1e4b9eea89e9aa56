"""Repairs parallel text, leaves out what cannot be repaired, and logs each change."""
