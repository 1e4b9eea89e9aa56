"""Compare the speed of Headway and its peers, in turns on one machine."""
