"""plait for Python: so far its memory, which the ranks of a host reach directly (plait.memory)."""
