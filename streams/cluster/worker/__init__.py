"""The worker's process, which decides on partitions: `palimpsest worker`."""
