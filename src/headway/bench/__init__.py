"""How fast this is beside its peers, on one machine, in turns: absolute figures do not travel."""
