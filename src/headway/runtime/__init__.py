"""The operating system and the processor: processes, memory, files, devices."""
