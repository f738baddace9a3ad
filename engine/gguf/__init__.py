"""GGUF files: header, metadata and tensor table of one file or all its shards; never the weights."""
